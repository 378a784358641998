//go:build linux && (amd64 || arm64)

package ibv

import (
	"strings"
	"testing"

	"heddle/verbs"
)

func TestMappings(t *testing.T) {
	const maps = `555500000000-555500001000 r--p 00000000 08:01 1 /bin/program
7f0000001000-7f0000003000 r-xp 00001000 08:01 2 /usr/lib/libibverbs/librxe-rdmav34.so
7f0000004000-7f0000005000 rw-p 00000000 00:00 0
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0 [vdso]
`
	code, err := parseMappings(strings.NewReader(maps))
	if err != nil || len(code) != 2 {
		t.Fatalf("%+v, %v", code, err)
	}
	for fn, want := range map[uintptr]string{
		0x7f0000001000: "/usr/lib/libibverbs/librxe-rdmav34.so", 0x7f0000002fff: "/usr/lib/libibverbs/librxe-rdmav34.so",
		0x7f0000003000: "", 0x555500000010: "", 0x7f0000004000: "", 0: "",
	} {
		if got, ok := code.find(fn); got != want || ok != (want != "") {
			t.Errorf("%#x: %q, %v", fn, got, ok)
		}
	}
	if code, err := parseMappings(strings.NewReader("x r-xp 0 0 0 f\n")); err == nil {
		t.Errorf("%+v", code)
	}
}

func TestEntersKernel(t *testing.T) {
	for file, want := range map[string]bool{
		"/usr/lib/libibverbs/librxe-rdmav34.so":     true,
		"/usr/lib/libibverbs/libsiw-rdmav34.so":     true,
		"/usr/lib/libibverbs/libnew-rdmav34.so":     true,
		"/usr/lib/libibverbs.so.1.14.44.0":          true,
		"/usr/lib64/libibverbs/libmlx5-rdmav57.so":  false,
		"/usr/lib/libmlx5.so.1.24.44.0":             false,
		"/usr/lib/libibverbs/libbnxt_re-rdmav34.so": false,
	} {
		if got := entersKernel(file); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
}

func TestStatus(t *testing.T) {
	for n, want := range map[uint32]verbs.Status{
		0: verbs.StatusOK, 1: verbs.StatusLocalLength, 3: verbs.StatusGeneral, 5: verbs.StatusFlushed,
		10: verbs.StatusRemoteAccess, 13: verbs.StatusRNRRetryExceeded, 21: verbs.StatusGeneral, 99: verbs.StatusGeneral,
	} {
		if got := status(n); got != want {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	for n, want := range map[uint32]verbs.Op{0: verbs.OpSend, 3: verbs.OpCompareSwap, 128: verbs.OpRecv, 129: verbs.OpRecvWriteImm, 77: 0} {
		if got := operation(n); got != want {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
}

func TestWC(t *testing.T) {
	var wc verbs.WC
	(&ibvWC{ID: 1, Op: wcRecv, ByteLen: 50, Imm: 0x04030201, QPN: 7, SrcQPN: 8, Flags: wcGRH | wcWithImm}).translate(&wc)
	if want := (verbs.WC{ID: 1, Op: verbs.OpRecv, ByteLen: 50, Flags: verbs.WithImm, Imm: 0x01020304, QPN: 7, SrcQPN: 8}); wc != want {
		t.Errorf("%+v, want %+v", wc, want)
	}
	(&ibvWC{ID: 1, Status: 12, Op: 3, ByteLen: 9, Vendor: 0x81, QPN: 7}).translate(&wc)
	if want := (verbs.WC{ID: 1, Status: verbs.StatusRetryExceeded, QPN: 7, Vendor: 0x81}); wc != want {
		t.Errorf("%+v, want %+v", wc, want)
	}
}
