package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestVM(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greeting"), []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := VM{
		Modules:  []string{"dummy", "ib_umad"},
		Programs: []string{"ip", Peer(t, "rdma")},
		Files:    map[string]string{"/etc/vm/test": dir, "/lone": filepath.Join(dir, "greeting")},
		Script: `
id -u
cat /etc/vm/test/greeting /lone
ip -d link add d0 type dummy
ip -br link show d0 | cut -d' ' -f1
rdma link
test -d /sys/module/ib_core && echo ib_core`,
	}.Run(t)
	if want := "0\nhello\nhello\nd0\nib_core\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func TestVMWhoseScriptFails(t *testing.T) {
	t.Parallel()
	r := run(t, func(tb testing.TB) {
		VM{Script: "echo so far\nfalse\necho never"}.Run(tb)
	})
	if r.end == "skip" {
		t.Skip(r.text)
	}
	if r.end != "fail" || !strings.Contains(r.text, "status 1\nso far\n") || strings.Contains(r.text, "never") {
		t.Errorf("ended with %q %q", r.end, r.text)
	}
}

func TestVMThatIsNotDoneInTime(t *testing.T) {
	t.Parallel()
	r := run(t, func(tb testing.TB) { VM{Timeout: 10 * time.Millisecond}.Run(tb) })
	if r.end == "skip" {
		t.Skip(r.text)
	}
	if r.end != "fail" || !strings.Contains(r.text, "not done after 10ms") {
		t.Errorf("ended with %q %q", r.end, r.text)
	}
}

func TestCutExit(t *testing.T) {
	tests := []struct {
		printed, output, status string
		ok                      bool
	}{
		{"\n" + exitMark + "0\n", "", "0", true},
		{"a\nb\n\n" + exitMark + "3\n", "a\nb\n", "3", true},
		{"a\r\n\r\n" + exitMark + "0\r\n", "a\n", "0", true},
		{"a\n", "a\n", "", false},
		{"", "", "", false},
	}
	for _, test := range tests {
		output, status, ok := cutExit(test.printed)
		if output != test.output || status != test.status || ok != test.ok {
			t.Errorf("cutExit(%q) = %q, %q, %v", test.printed, output, status, ok)
		}
	}
}

func TestKernelIn(t *testing.T) {
	dir := t.TempDir()
	if k, err := kernelIn(dir); err == nil {
		t.Errorf("in an empty directory: %v", k)
	}
	files := fstest.MapFS{
		"boot/vmlinuz-6.1": {}, "boot/config-6.1": {},
		"lib/modules/6.1/modules.dep": {Data: []byte("a/b-1.ko: a/c.ko.xz a/d.ko\na/c.ko.xz: a/d.ko\na/d.ko:\n")},
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	k, err := kernelIn(dir)
	if err != nil || k.image != filepath.Join(dir, "boot", "vmlinuz-6.1") {
		t.Fatalf("kernelIn = %v, %v", k, err)
	}
	got, err := k.load([]string{"c", "b_1", "d"})
	want := []string{"d.ko", "c.ko.xz", "b-1.ko"}
	for i, file := range want {
		want[i] = filepath.Join(k.modules, "a", file)
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("load: %v, order (-want +got):\n%s", err, diff)
	}
	if got, err := k.load([]string{"none"}); err == nil {
		t.Errorf("load of a module that is not there: %v", got)
	}
}

// TestArchive holds a header against what cpio(5) says of the format.
func TestArchive(t *testing.T) {
	tree := make(guestTree)
	tree.text("a/f", 0o755, "12345")
	tree.link("l", "a/f")
	header := func(inode, mode, size, name string) string {
		z := "00000000"
		return "070701" + inode + mode + z + z + "00000001" + z + size + z + z + z + z + name + z
	}
	want := header("00000001", "000041ED", "00000000", "00000002") + "a\x00" +
		header("00000002", "000081ED", "00000005", "00000004") + "a/f\x00\x00\x00" + "12345\x00\x00\x00" +
		header("00000003", "0000A1FF", "00000003", "00000002") + "l\x00" + "a/f\x00" +
		header("00000000", "00000000", "00000000", "0000000B") + "TRAILER!!!\x00\x00\x00\x00"
	if diff := cmp.Diff(want, string(tree.archive())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSharedLibraries(t *testing.T) {
	dash := Peer(t, "dash")
	data, err := os.ReadFile(dash)
	if err != nil {
		t.Fatal(err)
	}
	libraries, err := sharedLibraries(dash, data)
	if err != nil || !strings.Contains(strings.Join(libraries, " "), "libc.so") {
		t.Errorf("of dash: %v, %v", libraries, err)
	}
	for _, data := range []string{"", "#!/bin/sh\n", "\x7fELF"} {
		if libraries, err := sharedLibraries("-", []byte(data)); len(libraries) != 0 || err != nil {
			t.Errorf("of %q: %v, %v", data, libraries, err)
		}
	}
}
