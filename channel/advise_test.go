package channel

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"heddle/verbs/sim"
)

// TestAdvise has programs ask that are known.
func TestAdvise(t *testing.T) {
	profile := func(name string) sim.Profile {
		for _, p := range sim.Profiles() {
			if p.Name == name {
				return p
			}
		}
		t.Fatalf("no profile %q", name)
		return sim.Profile{}
	}
	for _, test := range []struct {
		what, network string
		req           Requirements
		want          string // the first choice
	}{
		{"variable messages, a receiver without requests", "ib", Requirements{Variable: true, PassiveReceiver: true}, "ring-zero"},
		{"a receiver that sleeps", "ib", Requirements{Variable: true, Blocking: true}, "ring-imm"},
		{"the same where WRITE has no immediate", "iwarp", Requirements{Variable: true, Blocking: true}, "ring-send"},
		{"no order", "ib-ar", Requirements{Variable: true, PassiveReceiver: true}, "ring-cell"},
	} {
		p := profile(test.network)
		list := Advise(test.req, p.Caps())
		if len(list) != len(Kinds()) {
			t.Fatalf("%d choices of %d kinds", len(list), len(Kinds()))
		}
		if !list[0].Fits() || list[0].Kind.Name != test.want {
			t.Errorf("%s on %s: %s %q, want %s", test.what, test.network, list[0].Kind.Name, list[0].Excluded, test.want)
		}
	}
}

// TestAdviceHolds asks for anything: what fits can be made on the device, and
// does what was asked for; what does not says why.
func TestAdviceHolds(t *testing.T) {
	profiles := sim.Profiles()
	rapid.Check(t, func(t *rapid.T) {
		flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
		req := Requirements{
			Blocking: flag("blocking"), ZeroCopySend: flag("send"), ZeroCopyRecv: flag("recv"), Variable: flag("variable"),
			PassiveSender: flag("passive sender"), PassiveReceiver: flag("passive receiver"), InOrder: flag("in order"),
			Senders: rapid.IntRange(0, 64).Draw(t, "senders"), SharedMemory: flag("shared"),
		}
		p := rapid.SampledFrom(profiles).Draw(t, "profile")
		caps := p.Caps()
		fitted := true
		for _, c := range Advise(req, caps) {
			k := c.Kind
			if c.Fits() && !fitted {
				t.Fatalf("%s fits, and comes after one that does not", k.Name)
			}
			fitted = c.Fits()
			if missing := k.Missing(&caps); c.Fits() && missing != nil {
				t.Fatalf("%s: %v", k.Name, missing)
			} else if missing != nil && !slices.ContainsFunc(c.Excluded, func(s string) bool { return strings.HasPrefix(s, "the device: ") }) {
				t.Fatalf("%s: %q, want %v", k.Name, c.Excluded, missing)
			}
			if c.Fits() && (req.Blocking && !k.Blocking || req.Variable && !k.Variable || req.PassiveSender && !k.PassiveSender) {
				t.Fatalf("%s does not do what is needed: %+v", k.Name, req)
			}
		}
	})
}
