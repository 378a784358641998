package sim

import (
	"bytes"
	"errors"
	"testing"

	"heddle/ib"
	"heddle/verbs"
)

// FuzzEndpoint: words of a peer are refused, or say the same again.
func FuzzEndpoint(f *testing.F) {
	good := endpoint{network: 1, device: 2, qpn: 3, qkey: 4, service: verbs.RC, mtu: ib.MTU4096, reads: 16}
	f.Add(good.bytes())
	f.Add(good.bytes()[1:])
	f.Add(make([]byte, endpointSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEndpoint(b)
		if err != nil {
			if e != (endpoint{}) || !errors.Is(err, verbs.ErrInvalid) {
				t.Errorf("%+v with the error %v", e, err)
			}
			return
		}
		if !bytes.Equal(e.bytes(), b) {
			t.Errorf("%x was read and written as %x", b, e.bytes())
		}
	})
}
