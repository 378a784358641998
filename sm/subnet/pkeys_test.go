package subnet_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sm/subnet"
)

// writePKeys sets a block of the P_Key table of the own port.
func (e emulated) writePKeys(t *testing.T, v *subnet.View, block uint16, table mad.PKeyTable) {
	t.Helper()
	own := v.Nodes[v.Own.Node]
	asked := false
	take := func() (bool, bool) { ok := !asked; asked = true; return true, ok }
	_, err := subnet.Exchange(t.Context(), e.port, subnet.Options{}, take, func(bool) subnet.Request {
		return subnet.Request{
			Node: own, Method: mad.MethodSet, Attr: mad.AttrPKeyTable,
			Modifier: mad.PKeyTableModifier(0, block), Data: table.AppendTo(nil),
		}
	}, func(_ bool, d *mad.Datagram, err error) error {
		if err == nil && d.Status() != mad.StatusOK {
			err = fmt.Errorf("status %v", d.Status())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSweepReadsPKeys reads tables of one key, with an empty block before the
// last one, and of a length that is no multiple of a block.
func TestSweepReadsPKeys(t *testing.T) {
	onEmulator(t, "fat-tree:k=4", emu.Config{PKeys: 70}, func(t *testing.T, e emulated) {
		v, err := subnet.Sweep(t.Context(), e.port, subnet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if v.Nodes[v.Own.Node].Ports[v.Own.Port].PKeys != nil {
			t.Error("read without being asked for")
		}
		first, last := mad.PKeyTable{ib.DefaultPKey, 5: 0x8005}, mad.PKeyTable{5: 0x8045}
		e.writePKeys(t, v, 0, first)
		e.writePKeys(t, v, 2, last)
		if v, err = subnet.Sweep(t.Context(), e.port, subnet.Options{PKeys: true}); err != nil {
			t.Fatal(err)
		}
		usual := make([]ib.PKey, 70)
		usual[0] = ib.DefaultPKey
		own := make([]ib.PKey, 70)
		own[0], own[5], own[69] = ib.DefaultPKey, 0x8005, 0x8045
		for _, n := range v.Nodes {
			for i := range n.Ports {
				var want []ib.PKey
				switch {
				case v.Own == fabric.End{Node: n.ID, Port: uint16(i)}:
					want = own
				case n.IsSwitch() == (i == 0):
					want = usual
				}
				if diff := cmp.Diff(want, n.Ports[i].PKeys); diff != "" {
					t.Errorf("%s port %d (-want +got):\n%s", n.Label(), i, diff)
				}
			}
		}
	})
}
