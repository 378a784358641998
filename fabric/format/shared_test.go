package format_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/internal/testenv"
)

// dumps are the published files of the shared data, and what is in them.
var dumps = []struct {
	file                         string
	switches, adapters, linkEnds int
	aggregation                  int
	faults                       []string
}{
	{"nvidia-selene.compute.txt", 666, 4341, 25704, 666, nil},
	{"nvidia-selene.storage.txt", 160, 1247, 6572, 0, nil},
	{"topograph-ibnetdiscover-example.out", 40, 582, 2228, 40, nil},
	{"topograph-ibnetdiscover-example-bad.out", 0, 1, 0, 0, []string{"0 no-switch !", "10 no-link"}},
	{"fdr-rocket-tartu.topo", 8, 144, 384, 0, nil},
	{"ibtopotool-1.topo", 2, 4, 14, 0, []string{"26/15 disagree", "52/18 disagree"}},
	{"ibtopotool-2.topo", 1, 2, 4, 0, nil},
	{"ibtopotool-3.topo", 2, 6, 20, 0, []string{"1 noise"}},
	{"ibtopotool-4.topo", 1, 1, 2, 0, nil},
	{"ibutils-subnet.lst", 62, 3, 344, 0, nil},
	{"ibsim-net", 2, 2, 8, 0, nil},
	{"ibsim-net.1", 1, 2, 4, 0, nil},
	{"ibsim-net.2sw2path4hca", 2, 4, 12, 0, nil},
}

func TestPublishedDumps(t *testing.T) {
	dir, ok := testenv.Shared(t, "data", "fabrics")
	if !ok {
		t.Log("reading a generated fabric instead")
		readGenerated(t, "fat-tree:k=8", 80, 128, 768)
		return
	}
	for _, d := range dumps {
		t.Run(d.file, func(t *testing.T) {
			f, faults, err := format.ReadFile(filepath.Join(dir, d.file), "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d.faults, said(faults)); diff != "" {
				t.Errorf("faults (-want +got):\n%s%v", diff, faults)
			}
			s := f.Summary(nil)
			if s.Switches != d.switches || s.Adapters != d.adapters || s.LinkEnds != d.linkEnds || s.Routers != 0 {
				t.Errorf("%+v, want %d switches, %d adapters, %d link ends", s, d.switches, d.adapters, d.linkEnds)
			}
			if got := aggregationNodes(f); got != d.aggregation {
				t.Errorf("%d aggregation nodes, want %d", got, d.aggregation)
			}
			rewrite(t, f)
		})
	}
}

func aggregationNodes(f *fabric.Fabric) (n int) {
	for _, id := range f.Adapters() {
		if f.Node(id).Aggregation {
			n++
		}
	}
	return n
}

func readGenerated(t *testing.T, spec string, switches, adapters, linkEnds int) {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := f.Summary(nil)
	if s.Switches != switches || s.Adapters != adapters || s.LinkEnds != linkEnds {
		t.Errorf("%s is %+v", spec, s)
	}
	rewrite(t, f)
}

// rewrite writes and reads a fabric in all formats.
func rewrite(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	for _, form := range format.All() {
		text := write(t, f, form.Name)
		if form.Read == nil || text == "" {
			continue
		}
		got, _ := read(t, text, form.Name)
		v := viewOf(got)
		if form.Name == "subnet.lst" {
			v.sortNodes()
		}
		if diff := cmp.Diff(kept(f, form.Name), v); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form.Name, diff)
		}
	}
}

// large is the text of a large fabric: a published dump, or a generated one.
func large(tb testing.TB) []byte {
	tb.Helper()
	if path, ok := testenv.Shared(tb, "data", "fabrics", "nvidia-selene.compute.txt"); ok {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		return text
	}
	tb.Log("reading a generated fabric instead")
	f, err := topology.Generate("fat-tree:k=26")
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(write(tb, f, "ibnetdiscover"))
}

func BenchmarkRead(b *testing.B) {
	f, _, err := format.Read(bytes.NewReader(large(b)), "dump", "")
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range format.All() {
		if form.Read == nil {
			continue
		}
		text := []byte(write(b, f, form.Name))
		b.Run(fmt.Sprintf("%s/%dKiB", form.Name, len(text)>>10), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := format.Read(bytes.NewReader(text), "dump", form.Name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	f, _, err := format.Read(bytes.NewReader(large(b)), "dump", "")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range format.Names() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				write(b, f, name)
			}
		})
	}
}
