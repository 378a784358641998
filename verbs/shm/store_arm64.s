//go:build linux

#include "textflag.h"

// func store8(at *byte, v uint8)
TEXT ·store8(SB), NOSPLIT, $0-9
	MOVD at+0(FP), R0
	MOVBU v+8(FP), R1
	STLRB R1, (R0)
	RET

// func store16(at *byte, v uint16)
TEXT ·store16(SB), NOSPLIT, $0-10
	MOVD at+0(FP), R0
	MOVHU v+8(FP), R1
	STLRH R1, (R0)
	RET

// func release(at *uint64, v uint64)
TEXT ·release(SB), NOSPLIT, $0-16
	MOVD at+0(FP), R0
	MOVD v+8(FP), R1
	STLR R1, (R0)
	RET
