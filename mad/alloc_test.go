package mad

import "testing"

// TestNoAllocations: what an emulated switch does for each request.
func TestNoAllocations(t *testing.T) {
	var d Datagram
	d.SetHeader(Header{Class: ClassDirected, ClassVersion: 1, Method: MethodGet})
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"NodeInfo", func() error { v, err := ParseNodeInfo(d.Data()); v.AppendTo(d.Data()[:0]); return err }},
		{"SwitchInfo", func() error { v, err := ParseSwitchInfo(d.Data()); v.AppendTo(d.Data()[:0]); return err }},
		{"PortInfo", func() error { v, err := ParsePortInfo(d.Data()); v.AppendTo(d.Data()[:0]); return err }},
		{"LinearForwarding", func() error { v, err := ParseLinearForwarding(d.Data()); v.AppendTo(d.Data()[:0]); return err }},
		{"MulticastForwarding", func() error { v, err := ParseMulticastForwarding(d.Data()); v.AppendTo(d.Data()[:0]); return err }},
	} {
		if n := testing.AllocsPerRun(100, func() {
			if err := c.run(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}
