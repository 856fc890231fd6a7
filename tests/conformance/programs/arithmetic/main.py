from decimal import Decimal
from fractions import Fraction
import math

print(2 ** 200)
print(pow(123, 456, 1000000007), -7 // 2, -7 % 3, divmod(-7, 2))
print(0.1 + 0.2, 1e22, 1e-7, float("inf"), -0.0)
print(round(2.5), round(3.5), round(-1.005, 2))
print(Decimal("0.1") + Decimal("0.2"), Fraction(1, 3) + Fraction(1, 6))
print(math.comb(50, 25), math.isqrt(10 ** 30), math.gcd(12, 18))
