package sm_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/emu"
	"heddle/mad"
	"heddle/sm"
	"heddle/sm/partition"
	"heddle/sm/plan"
	"heddle/umad"
)

// recorder is a device that notes what is written, and with which M_Key.
type recorder struct {
	umad.Device
	mu    *sync.Mutex
	steps *[]string         // each once for all that follow on one another
	keys  map[mad.MKey]bool // of directed SMPs
}

func (r recorder) Send(m *umad.Message, timeout time.Duration) error {
	d := m.Datagram()
	r.mu.Lock()
	if d.Class() == mad.ClassDirected {
		r.keys[d.MKey()] = true
		if step := stepOf(d); step != "" && (len(*r.steps) == 0 || (*r.steps)[len(*r.steps)-1] != step) {
			*r.steps = append(*r.steps, step)
		}
	}
	r.mu.Unlock()
	return r.Device.Send(m, timeout)
}

// stepOf names the step of a sweep that a Set belongs to, "" for others.
func stepOf(d *mad.Datagram) string {
	if d.Method() != mad.MethodSet {
		return ""
	}
	switch d.Attr() {
	case mad.AttrPKeyTable:
		return "P_Keys"
	case mad.AttrLinearForwarding:
		return "LFT"
	case mad.AttrSLtoVLMapping, mad.AttrVLArbitration:
		return "lanes"
	case mad.AttrMulticastForwarding:
		return "MFT"
	case mad.AttrPortInfo:
		info, _ := mad.ParsePortInfo(d.Data())
		if info.PortState == mad.PortNoChange {
			return "LIDs"
		}
		return info.PortState.String()
	default:
		return ""
	}
}

// TestOrderOfSweep: a sweep writes P_Keys, LIDs, unicast tables, lanes and
// multicast tables before a port becomes Active, and each step is over when the
// next begins; each SMP has the M_Key that is configured.
func TestOrderOfSweep(t *testing.T) {
	parts, faults, err := partition.Read(strings.NewReader("Default=0x7fff,ipoib:ALL=full; a=0x11:ALL=full;"), partition.Options{})
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	rec := recorder{mu: &sync.Mutex{}, steps: &[]string{}, keys: map[mad.MKey]bool{}}
	s := subject{
		wrap: func(d umad.Device) umad.Device { rec.Device = d; return rec },
		change: func(c *sm.Config) {
			c.PKeys.Partitions = parts
			c.Ports = plan.DefaultPortRules()
			c.Ports.MKey, c.Ask.MKey = 0x77, 0x77
			c.QoS = plan.DefaultQoSRules()
			c.QoS.Always = true
		},
	}
	manageOn(t, generate(t, "fat-tree:k=4"), emu.Config{}, s, func(t *testing.T, m managed) {
		m.sweep(t)
		if want := []string{"P_Keys", "LIDs", "LFT", "lanes", "Armed", "Active"}; !slices.Equal(*rec.steps, want) {
			t.Errorf("steps %v, want %v", *rec.steps, want)
		}
		if len(rec.keys) != 1 || !rec.keys[0x77] {
			t.Errorf("M_Keys %v", rec.keys)
		}
	})
}
