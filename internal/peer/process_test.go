package peer

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// shell is a process that runs a script.
func shell(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(exec.Command("sh", "-c", script))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestWait(t *testing.T) {
	p := shell(t, "echo one two one; read line; echo $line; read line")
	for _, want := range []string{"one", " two one"} {
		if got, err := p.Wait(t.Context(), "one"); got != want || err != nil {
			t.Errorf("Wait = %q, %v; want %q", got, err, want)
		}
	}
	if err := p.Send("three"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Wait(t.Context(), "three\n"); got != "\nthree\n" || err != nil {
		t.Errorf("Wait = %q, %v", got, err)
	}
	ended, end := context.WithCancelCause(t.Context())
	cause := errors.New("no more patience")
	end(cause)
	if _, err := p.Wait(ended, "four"); !errors.Is(err, cause) {
		t.Errorf("Wait for what never comes = %v", err)
	}
	p.Stop()
	p.Stop()
	if _, err := p.Wait(t.Context(), "four"); err == nil || !strings.Contains(err.Error(), "three") {
		t.Errorf("Wait after the end = %v, which does not say what was written", err)
	}
	if got := p.Output(); got != "one two one\nthree\n" {
		t.Errorf("Output = %q", got)
	}
}

func TestWaitEnd(t *testing.T) {
	p := shell(t, "cat; echo done")
	if err := p.WaitEnd(t.Context()); err != nil || p.Output() != "done\n" {
		t.Errorf("WaitEnd = %v, %q", err, p.Output())
	}
	p = shell(t, "echo broken >&2; exit 3")
	if err := p.WaitEnd(t.Context()); err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("WaitEnd of what fails = %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	p = shell(t, "exec sleep 100")
	if err := p.WaitEnd(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("WaitEnd of what does not end = %v", err)
	}
}

func TestStartLogger(t *testing.T) {
	p, err := StartLogger(exec.Command("sh", "-c", "echo one; echo two >&2; read line"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	if got, err := p.Wait(t.Context(), "two\n"); got != "one\ntwo\n" || err != nil {
		t.Errorf("Wait = %q, %v", got, err)
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(exec.Command(t.TempDir())); err == nil {
		t.Error("a directory is started")
	}
}

func TestMissing(t *testing.T) {
	_, err := Find("no-such-program")
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Name != "no-such-program" || missing.Package != "" {
		t.Errorf("Find = %v", err)
	}
	const want = "peer ibsim is not in /bin /sbin; Debian's package ibsim-utils has it"
	if got := (&MissingError{"ibsim", packages["ibsim"], []string{"/bin", "/sbin"}}).Error(); got != want {
		t.Errorf("the error is %q, want %q", got, want)
	}
}
