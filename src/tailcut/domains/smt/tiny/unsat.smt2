(set-logic QF_BV)
(declare-const x (_ BitVec 8))
(assert (= (bvmul x #x02) #x23))
(check-sat)
