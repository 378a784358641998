package cli

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/testenv"
)

const unitFile = "../packaging/systemd/heddle-sm.service"

// TestUnitCommand: the unit starts a command with flags that there are, and
// does not give systemd a program that does not tell it when it is ready.
func TestUnitCommand(t *testing.T) {
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	command := (&app{err: io.Discard}).smCommand()
	var words []string
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "ExecStart="); ok {
			words = strings.Fields(value)
		}
	}
	if len(words) < 3 || words[0] != "/usr/bin/heddle" || words[1] != "sm" {
		t.Fatalf("ExecStart is %q", words)
	}
	for _, word := range words {
		if name, ok := strings.CutPrefix(word, "--"); ok && command.Flags().Lookup(name) == nil {
			t.Errorf("heddle sm has no flag --%s", name)
		}
	}
	if !strings.Contains(string(text), "\nType=notify\n") || !strings.Contains(string(text), "\nExecReload=/bin/kill -HUP $MAINPID\n") {
		t.Error("the unit does not wait for the manager, or does not reload")
	}
}

// TestUnitVerified by systemd, which also rates what the service could do to
// its host: 0 is nothing, 10 is all.
func TestUnitVerified(t *testing.T) {
	analyze := testenv.Peer(t, "systemd-analyze")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(unitFile)
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "heddle-sm.service")
	here := strings.ReplaceAll(string(text), "/usr/bin/heddle", self) // that is there
	if err := os.WriteFile(unit, []byte(here), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", unit}, {"security", "--no-pager", "--offline=true", "--threshold=20", unit}} {
		out, err := exec.CommandContext(t.Context(), analyze, args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}

// TestNotify tells systemd, if that listens.
func TestNotify(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("NOTIFY_SOCKET", "")
	var s smSetup
	s.notify("READY=1") // to nobody
	listener := listenUnixgram(t, "notify")
	t.Setenv("NOTIFY_SOCKET", "notify")
	s.notify("READY=1")
	b := make([]byte, 64)
	n, err := listener.Read(b)
	if err != nil || string(b[:n]) != "READY=1" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if err := sendTo("nobody", "READY=1"); err == nil {
		t.Error("nobody listens, and no error")
	}
}

func listenUnixgram(t *testing.T, name string) io.Reader {
	t.Helper()
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
