package ibv

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// TestOnlyUsersLinkLibc builds a program with this package and one without: the
// latter is static.
func TestOnlyUsersLinkLibc(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("programs of other systems are not static anyway")
	}
	for _, test := range []struct {
		imports string
		uses    string
		dynamic bool
	}{
		{"heddle/verbs/ibv", "(&ibv.Provider{}).Devices()", true},
		{"heddle/verbs", "verbs.NewMemory(1)", false},
	} {
		program := build(t, "package main\n\nimport \""+test.imports+"\"\n\nfunc main() { _, _ = "+test.uses+" }\n")
		libraries := needed(t, program)
		if got := len(libraries) > 0; got != test.dynamic {
			t.Errorf("with %s: needs %v", test.imports, libraries)
		}
	}
}

// build builds a program of this module without cgo.
func build(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-o", program, file)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// needed lists the libraries that a program is linked with.
func needed(t *testing.T, program string) []string {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	return libraries
}
