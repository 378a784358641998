//go:build linux

#include "textflag.h"

// As stub_amd64.s; the structure's address is in R0.

GLOBL ·controlStub(SB), NOPTR|RODATA, $8
DATA ·controlStub(SB)/8, $control(SB)
TEXT control(SB), NOSPLIT, $16
	MOVD R0, 8(RSP)
	MOVD R0, R9
	MOVD 8(R9), R0
	MOVD 16(R9), R1
	MOVD 24(R9), R2
	MOVD 32(R9), R3
	MOVD 40(R9), R4
	MOVD 48(R9), R5
	MOVD 0(R9), R10
	BL   (R10)
	MOVD 8(RSP), R9
	MOVD R0, 56(R9)
	MOVD 64(R9), R10
	BL   (R10)
	MOVD 8(RSP), R9
	MOVW (R0), R0
	MOVD R0, 72(R9)
	RET

// A load that acquires does not overtake a store that releases.
GLOBL ·dataStub(SB), NOPTR|RODATA, $8
DATA ·dataStub(SB)/8, $data(SB)
TEXT data(SB), NOSPLIT, $16
	MOVD  40(R0), R9
	CBZ   R9, call
	ADD   $4, R9, R11
	MOVW  $1, R10
	STLRW R10, (R11)
	LDARW (R9), R10
	CBNZW R10, shut
call:
	MOVD  R0, 8(RSP)
	MOVD  R0, R9
	MOVD  8(R9), R0
	MOVD  16(R9), R1
	MOVD  24(R9), R2
	MOVD  0(R9), R10
	BL    (R10)
	MOVD  8(RSP), R9
	SXTW  R0, R0
	MOVD  R0, 32(R9)
	MOVD  40(R9), R9
	CBZ   R9, done
	ADD   $4, R9, R11
	STLRW ZR, (R11)
done:
	RET
shut:
	STLRW ZR, (R11)
	MOVD  $0x100000000, R10
	MOVD  R10, 32(R0)
	RET
