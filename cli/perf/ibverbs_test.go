//go:build linux && (amd64 || arm64)

package perf_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"heddle/cli/perf"
	"heddle/verbs"
	"heddle/verbs/soft"
)

// TestPingPong has the client and the server of rdma-core's protocol play with each
// other, of each service; TestInterop of package soft does so with the programs.
func TestPingPong(t *testing.T) {
	pid := os.Getpid()
	var ends [2]*perf.End
	for i := range ends {
		a := netip.AddrFrom4([4]byte{127, byte(90 + i), byte(pid >> 8), byte(pid)})
		e, err := perf.Open(soft.OnAddress(a), a.String())
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = e
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for service, size := range map[verbs.QPType]int{verbs.RC: 4096, verbs.UC: 1000, verbs.UD: 1024} {
		here, there := net.Pipe()
		spec := perf.Spec{Service: service, Size: size, Iters: 20}
		served := make(chan error, 1)
		go func() {
			r, err := ends[1].PingPong(t.Context(), there, spec, false)
			if err == nil && r.Times.Median <= 0 {
				err = errors.New("nothing was measured")
			}
			served <- err
		}()
		r, err := ends[0].PingPong(t.Context(), here, spec, true)
		if err = errors.Join(err, <-served); err != nil || r.Times.Median <= 0 || !strings.HasPrefix(r.Second, "QP ") {
			t.Errorf("%v: %+v, %v", service, r, err)
		}
	}
}

// TestPingPongNonsense: what is no endpoint is refused.
func TestPingPongNonsense(t *testing.T) {
	e, err := perf.Open(soft.OnAddress(netip.MustParseAddr("127.0.0.1")), "soft")
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, text := range []string{"", "\x00", strings.Repeat("0", 100), "0000:000000:000000:00000000000000000000000000000000\x00"} {
		here, there := net.Pipe()
		go func() {
			_, err := io.WriteString(there, text)
			if err == nil {
				err = there.Close()
			}
			_ = err // the other end hangs up first where there was enough
		}()
		if r, err := e.PingPong(t.Context(), here, perf.Spec{Size: 8, Iters: 2}, false); err == nil {
			t.Errorf("%q: %+v", text, r)
		}
	}
	here, _ := net.Pipe()
	if _, err := e.PingPong(t.Context(), here, perf.Spec{Size: 8, Iters: 1}, true); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("one message: %v", err)
	}
}
