//go:build linux

#include "textflag.h"

// func release8(at *byte, v uint8)
TEXT ·release8(SB), NOSPLIT, $0-9
	MOVD at+0(FP), R0
	MOVBU v+8(FP), R1
	STLRB R1, (R0)
	RET

// func release16(at *byte, v uint16)
TEXT ·release16(SB), NOSPLIT, $0-10
	MOVD at+0(FP), R0
	MOVHU v+8(FP), R1
	STLRH R1, (R0)
	RET
