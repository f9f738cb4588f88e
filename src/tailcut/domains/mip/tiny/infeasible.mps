NAME          infeasible
ROWS
 N  cost
 E  r0
COLUMNS
    MARKER                 'MARKER'                 'INTORG'
    x0        cost                 1
    x0        r0                   2
    x1        cost                 1
    x1        r0                   4
    MARKER                 'MARKER'                 'INTEND'
RHS
    RHS       r0                   7
BOUNDS
 UP BND       x0                   5
 UP BND       x1                   5
ENDATA
