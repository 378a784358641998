package umad

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/mad"
)

// TestRegistration holds registrations against those that umad_register2 of
// libibumad 44 gave to ioctl.
func TestRegistration(t *testing.T) {
	tests := []struct {
		name  string
		agent Agent
		bytes string
	}{
		{
			"vendor",
			Agent{Class: 0x32, Version: 1, OUI: 0x1405, RMPP: true, Methods: []mad.Method{
				mad.MethodGet, mad.MethodSet, mad.MethodTrap, 0x54,
			}},
			"00000000 01000000 32010000 00000000 2600000000000000 0000100000000000 05140000 01000000",
		},
		{
			"directed route",
			Agent{Class: mad.ClassDirected, Version: 1},
			"00000000 00000000 81010000 00000000 0000000000000000 0000000000000000 00000000 00000000",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := test.agent.validate(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(golden(t, test.bytes), test.agent.registration()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgentsThatTheKernelRefuses(t *testing.T) {
	tests := []struct {
		agent Agent
		want  string // in the error; "" for none
	}{
		{Agent{Class: mad.ClassSA, RMPP: true}, ""},
		{Agent{Class: 0x10, RMPP: true}, ""},
		{Agent{Class: mad.ClassVendor}, ""},
		{Agent{Class: 0}, "class 0"},
		{Agent{Class: 0x30}, "OUI"},
		{Agent{Class: 0x4F, OUI: 1 << 24}, "OUI"},
		{Agent{Class: mad.ClassPerf, OUI: 1}, "OUI"},
		{Agent{Class: mad.ClassPerf, RMPP: true}, "RMPP"},
		{Agent{Class: mad.ClassLID, Methods: []mad.Method{mad.MethodGet, mad.MethodGetResp}}, "GetResp"},
		{Agent{Class: mad.ClassLID, Methods: []mad.Method{0}}, "no request"},
	}
	for _, test := range tests {
		err := test.agent.validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.agent, err, test.want)
		}
	}
}

func TestSender(t *testing.T) {
	agents := newClassAgents(4)
	agents.add(Agent{Methods: []mad.Method{mad.MethodGet}}, 4)
	agents.add(Agent{Methods: []mad.Method{mad.MethodGetTable}}, 9)
	for method, want := range map[mad.Method]uint32{
		mad.MethodGet: 4, mad.MethodGetResp: 4, mad.MethodGetTable: 4, mad.MethodGetTableResp: 9,
		mad.MethodDeleteResp: 4, mad.MethodTrapRepress: 4,
	} {
		if got := agents.sender(method); got != want {
			t.Errorf("%v leaves by agent %d, want %d", method, got, want)
		}
	}
}

func TestKeyOf(t *testing.T) {
	vendor := make([]byte, mad.Size)
	vendor[1], vendor[36], vendor[37], vendor[38], vendor[39] = 0x32, 0xFF, 0x00, 0x14, 0x05
	if got, want := keyOf(vendor), (agentKey{0x32, 0x1405}); got != want {
		t.Errorf("keyOf = %v, want %v", got, want)
	}
	vendor[1] = byte(mad.ClassSA)
	if got, want := keyOf(vendor), (agentKey{mad.ClassSA, 0}); got != want {
		t.Errorf("keyOf = %v, want %v", got, want)
	}
}
