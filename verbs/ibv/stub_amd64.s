//go:build linux

#include "textflag.h"

// Both are called on the system stack by C's convention, with the address of
// their structure in DI. What Go's side of the call expects to be kept is the
// stack pointer alone.

// control calls any function of C, and then takes errno of this very thread.
// struct control { fn, args[6], ret, errnoLocation, errno }
GLOBL ·controlStub(SB), NOPTR|RODATA, $8
DATA ·controlStub(SB)/8, $control(SB)
TEXT control(SB), NOSPLIT, $16
	MOVQ DI, 0(SP)
	MOVQ DI, R11
	MOVQ 8(R11), DI
	MOVQ 16(R11), SI
	MOVQ 24(R11), DX
	MOVQ 32(R11), CX
	MOVQ 40(R11), R8
	MOVQ 48(R11), R9
	MOVQ 0(R11), R10
	XORL AX, AX // no arguments of floating point
	CALL R10
	MOVQ 0(SP), R11
	MOVQ AX, 56(R11)
	MOVQ 64(R11), R10
	CALL R10
	MOVQ 0(SP), R11
	MOVLQSX (AX), AX
	MOVQ AX, 72(R11)
	RET

// data calls one of the functions that post and poll, unless its gate is shut.
// Between saying that we are busy and looking whether the gate is shut belongs a
// full barrier, so that either we see that, or who shut it sees that we are busy.
// Who shuts it makes that barrier for us where the kernel can do so (membarrier):
// it would cost more than all else here. Without a gate there is none to pass.
// struct data { fn, args[3], ret, gate }; struct gate { shut, busy, fenced uint32 }
GLOBL ·dataStub(SB), NOPTR|RODATA, $8
DATA ·dataStub(SB)/8, $data(SB)
TEXT data(SB), NOSPLIT, $16
	MOVQ  40(DI), CX
	MOVQ  DI, 0(SP)
	TESTQ CX, CX
	JEQ   call
	MOVL  $1, 4(CX)
	CMPL  8(CX), $0
	JNE   fence
look:
	CMPL  0(CX), $0
	JNE   shut
call:
	MOVQ  24(DI), DX
	MOVQ  16(DI), SI
	MOVQ  0(DI), R10
	MOVQ  8(DI), DI
	XORL  AX, AX
	CALL  R10
	MOVQ  0(SP), DI
	MOVQ  40(DI), CX
	MOVLQSX AX, AX
	MOVQ  AX, 32(DI)
	TESTQ CX, CX
	JEQ   done
	MOVL  $0, 4(CX)
done:
	RET
fence:
	MFENCE
	JMP  look
shut:
	MOVL $0, 4(CX)
	MOVQ $0x100000000, AX // no int of C
	MOVQ AX, 32(DI)
	RET
