//go:build linux

#include "textflag.h"

// func store8(at *byte, v uint8)
TEXT ·store8(SB), NOSPLIT, $0-9
	MOVQ at+0(FP), AX
	MOVB v+8(FP), CX
	XCHGB CX, (AX)
	RET

// func store16(at *byte, v uint16)
TEXT ·store16(SB), NOSPLIT, $0-10
	MOVQ at+0(FP), AX
	MOVW v+8(FP), CX
	XCHGW CX, (AX)
	RET

// func release(at *uint64, v uint64)
TEXT ·release(SB), NOSPLIT, $0-16
	MOVQ at+0(FP), AX
	MOVQ v+8(FP), CX
	MOVQ CX, (AX)
	RET
