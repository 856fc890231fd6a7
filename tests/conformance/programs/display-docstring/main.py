'One string.'
