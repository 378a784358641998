package cli

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"heddle/sm"
)

func TestHangUpSweeps(t *testing.T) {
	swept := make(chan string, 1)
	stop := onSignals(map[os.Signal]func(){syscall.SIGHUP: func() { swept <- "SIGHUP" }})
	defer stop()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := self.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		if why := <-swept; why != "SIGHUP" {
			t.Errorf("swept for %q", why)
		}
	}
}

func TestServeMetricsEnds(t *testing.T) {
	status := func() sm.Status { return sm.Status{} }
	server, err := serveMetrics("127.0.0.1:0", status)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := serveMetrics("nonsense", status); err == nil {
		t.Error("an address that is none")
	}
}

// TestConsoleRefuses: what it cannot understand never gets to the manager.
func TestConsoleRefuses(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"nonsense", "no command \"nonsense\"; there are status, resweep, reroute, groups, dump, help"},
		{"'status", "quotation"},
		{"resweep now", "wrong arguments; write: resweep"},
		{"status json json", "wrong arguments; write: status [json]"},
		{"groups nonsense", "groups: "},
	} {
		answer, err := smConsole{}.answer(test.line)
		if answer != "" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v", test.line, answer, err)
		}
	}
	help, err := smConsole{}.answer("help")
	if err != nil || strings.Count(help, "\n") != len(smOrders()) {
		t.Errorf("%q, %v", help, err)
	}
	if answer, err := (smConsole{}).answer(" "); answer != "" || err != nil {
		t.Errorf("an empty line: %q, %v", answer, err)
	}
}
