package peer_test

import (
	"strings"
	"testing"

	"heddle/internal/peer"
	"heddle/internal/testenv"
)

func TestVersion(t *testing.T) {
	for program, name := range map[string]string{"ibsim": "ibsim ", "opensm": "OpenSM ", "ucx_info": "UCX "} {
		testenv.Peer(t, program)
		got, err := peer.Version(t.Context(), program)
		if err != nil || !strings.HasPrefix(got, name) || len(got) == len(name) {
			t.Errorf("Version(%s) = %q, %v", program, got, err)
		}
	}
	if got, err := peer.Version(t.Context(), "sh"); err == nil {
		t.Errorf("Version(sh) = %q", got)
	}
}
