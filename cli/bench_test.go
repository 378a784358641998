package cli_test

import (
	"path/filepath"
	"testing"

	"heddle/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestBenchScripts runs the scripts of testdata/bench, benchmarks against
// programs that must be installed, with the commands of TestScripts.
func TestBenchScripts(t *testing.T) {
	for _, program := range []string{"ibsim", "opensm", "ibnetdiscover", "ucx_perftest"} {
		testenv.Peer(t, program)
	}
	testscript.Run(t, testscript.Params{
		Dir:  filepath.Join("testdata", "bench"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": jsonLines, "status": status, "picture": pictures},
	})
}
