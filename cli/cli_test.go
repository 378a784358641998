package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/cli/picture"

	"github.com/google/go-cmp/cmp"
)

func TestShapeOf(t *testing.T) {
	for name, want := range map[string]picture.Shape{
		"torus:30x20x20,e=2":     {Dims: []int{30, 20, 20}},
		"mesh:4":                 {Dims: []int{4}},
		"torus":                  {},
		"torus:nonsense":         {},
		"dragonfly:a=18,p=9,h=9": {Block: 18},
		"dragonfly:p=9,a=6,h=9":  {Block: 6},
		"fat-tree:k=4":           {},
		"cluster.topo":           {},
	} {
		if diff := cmp.Diff(want, shapeOf(name)); diff != "" {
			t.Errorf("shapeOf(%q) (-want +got):\n%s", name, diff)
		}
	}
}

func TestProgressShowsOnTerminalsOnly(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if isTerminal(file) || isTerminal(&bytes.Buffer{}) {
		t.Error("a file or a buffer is taken for a terminal")
	}
	a := &app{err: file}
	bar := a.progress()
	bar.start("work", 10)
	bar.step(10)
	bar.end()
	if info, err := file.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("progress in a file: %d bytes, %v", info.Size(), err)
	}
}

func TestProgress(t *testing.T) {
	var b strings.Builder
	bar := &progress{out: &b}
	bar.end() // nothing has begun
	bar.start("work", 10)
	bar.step(4)
	bar.end()
	if !strings.Contains(b.String(), "work") {
		t.Errorf("progress is %q", b.String())
	}
}
