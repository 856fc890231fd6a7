import helper
from tools import area
from tools.units import METRES

print(helper.greet("Ada"), area(2, 3), METRES, helper.__file__)
