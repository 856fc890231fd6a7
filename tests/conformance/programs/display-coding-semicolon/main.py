# -*- coding: latin-1 -*-
'ééé';
