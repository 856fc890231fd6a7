print('é', end='.\n')
('é',
 2) \
  ;  # quiet
# end
