package channel_test

import (
	"fmt"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// capsOf are those of a sort of network.
func capsOf(network string) (verbs.Caps, error) {
	for _, p := range sim.Profiles() {
		if p.Name == network {
			return p.Caps(), nil
		}
	}
	return verbs.Caps{}, fmt.Errorf("no network %q", network)
}
