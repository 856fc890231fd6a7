import doctest
import unittest


def double(n):
    """
    >>> double(2)
    4
    """
    return n * 2


class Doubles(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(3), 6)


if __name__ == "__main__":
    print(doctest.testmod())
    unittest.main(argv=["main"])
