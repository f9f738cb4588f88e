NAME          tiny
ROWS
 N  cost
 E  r0
COLUMNS
    MARKER                 'MARKER'                 'INTORG'
    x0        cost                 3
    x0        r0                   4
    x1        cost                 4
    x1        r0                   6
    x2        cost                 7
    x2        r0                   9
    MARKER                 'MARKER'                 'INTEND'
RHS
    RHS       r0                  27
BOUNDS
 UP BND       x0                   6
 UP BND       x1                   4
 UP BND       x2                   3
ENDATA
