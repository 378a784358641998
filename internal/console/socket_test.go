package console

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var emulator = Program{Name: "heddle emu", Short: "emu", Flag: "--ctl"}

func TestPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, test := range []struct{ runtime, name, want string }{
		{"/run/user/7", "sim", "/run/user/7/heddle-emu-%d-sim.ctl"},
		{"", "sim", filepath.Join(dir, "heddle-emu-%d-sim.ctl")},
		{"/run", "../a b", "/run/heddle-emu-%d-..%%2Fa%%20b.ctl"},
	} {
		t.Setenv("XDG_RUNTIME_DIR", test.runtime)
		if got, want := emulator.Path(test.name), fmt.Sprintf(test.want, os.Getuid()); got != want {
			t.Errorf("%q in %q: %s, want %s", test.name, test.runtime, got, want)
		}
	}
}

func TestLongNamesAreShortened(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", "/run/user/7")
	long := strings.Repeat("a", 100)
	a, b := emulator.Path(long), emulator.Path(long+"b")
	if len(a) > longest || len(b) > longest || a == b || a != emulator.Path(long) {
		t.Errorf("%s and %s", a, b)
	}
}

func TestPathIsBounded(t *testing.T) {
	if _, err := emulator.Listen(filepath.Join(t.TempDir(), string(make([]byte, longest)))); err == nil {
		t.Error("a path that no system takes")
	}
}

func TestSocketIsTheUsersOwn(t *testing.T) {
	t.Chdir(t.TempDir())
	listener, err := emulator.Listen("ctl")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	info, err := os.Stat("ctl")
	if err != nil || info.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
