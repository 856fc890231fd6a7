METRES = "m"
