package verbstest

import (
	"fmt"
	"testing"

	"heddle/verbs"
)

// verdict is what came of a test that did not fail.
type verdict int

const (
	failed verdict = iota
	passed
	refused    // the device cannot do it, and says so
	unpromised // nothing can be required
	deviates
)

// test is a test of the suite.
type test struct {
	name string
	rule string // what it checks, and where that is from
	// service is whose operations it needs, RC by default; ops and feature are
	// what it needs of them.
	service verbs.QPType
	ops     verbs.Ops
	feature feature
	// promise tells whether Caps promise what the test checks.
	promise func(*verbs.Caps) bool
	run     func(*env)
}

func (t *test) of() verbs.QPType { return max(t.service, verbs.RC) }

// unpromised says why nothing can be required of the device; empty is that it
// can.
func (t *test) unpromised(s *Suite, caps *verbs.Caps) string {
	switch {
	case t.promise != nil && !t.promise(caps):
		return "Caps do not"
	case s.Lossy && t.of() != verbs.RC:
		return fmt.Sprintf("%v on a network that loses packets", t.service)
	default:
		return ""
	}
}

// need is what a device lacks for a test.
type need struct {
	service verbs.QPType
	op      verbs.Op
	feature feature
}

// missing is the first thing that the device does not have.
func (t *test) missing(caps *verbs.Caps) *need {
	if t.feature != noFeature && !t.feature.in(caps) {
		return &need{feature: t.feature}
	}
	for op := verbs.OpSend; op <= verbs.OpLocalInv; op++ {
		if t.ops.Has(op) && !caps.Can(t.of(), op) {
			return &need{service: t.of(), op: op}
		}
	}
	return nil
}

// Run runs all tests, each as a subtest of its name.
func Run(t *testing.T, s Suite) {
	suite := s.filled(testing.Short())
	var count [deviates + 1]int
	all := tests()
	for _, name := range unknown(all, suite.Deviations) {
		t.Errorf("a deviation names %q, which is no test", name)
	}
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) {
			suite.Around(t, func(t *testing.T) { count[suite.judge(t, &all[i])]++ })
		})
	}
	t.Logf("%d tests: %d passed, %d of what Caps do not have and the device refuses, %d of what Caps do not promise, %d deviations",
		len(all), count[passed], count[refused], count[unpromised], count[deviates])
}

// unknown are the names of deviations that no test has.
func unknown(all []test, deviations []Deviation) (names []string) {
	known := map[string]bool{}
	for i := range all {
		known[all[i].name] = true
	}
	for _, d := range deviations {
		if !known[d.Test] {
			names = append(names, d.Test)
		}
	}
	return names
}

// judge runs a test, and holds what came of it against what is known.
func (s *Suite) judge(t *testing.T, test *test) verdict {
	d, known := s.deviation(test.name)
	if !known {
		defer func() {
			if t.Failed() {
				t.Logf("the rule: %s", test.rule)
			}
		}()
		return s.run(t, test)
	}
	if d.Skip {
		t.Logf("deviation, not run: %s", d.Reason)
		return deviates
	}
	faults := s.record(t, test)
	switch {
	case len(faults) > 0:
		t.Logf("deviation: %s\n%s", d.Reason, faults)
	case !d.Sometimes:
		t.Errorf("the test passes: take the deviation off the list (%s)", d.Reason)
	}
	return deviates
}
