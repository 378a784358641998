package spec

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValues(t *testing.T) {
	a := Read(`torus:30x20,e=2,lost=0.25,seed=18446744073709551615,order=b,path="a,b=c"`)
	path, ok := a.Text("path")
	got := []any{
		a.Name(), a.Sizes("", 3, 1, 100), a.Int("e", 1, 1, 9), a.Need("e", 1, 9), a.Int("f", 7, 1, 9),
		a.Share("lost"), a.Share("none"), a.Seed("seed", 1), a.Seed("other", 5),
		a.Word("order", "a", "b"), a.Word("kind", "x", "y"), path, ok,
	}
	want := []any{
		"torus",
		[]int{30, 20},
		2, 2, 7,
		0.25, 0.0, uint64(math.MaxUint64), uint64(5),
		"b", "x", "a,b=c", true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func TestQuotedFirstValue(t *testing.T) {
	a := Read(`file:"a=b,c"`)
	if path, ok := a.Text(""); !ok || path != "a=b,c" || a.Close() != nil {
		t.Errorf("got %q, %v, %v", path, ok, a.Close())
	}
}

// take asks for a value of each sort.
func take(a *Args) {
	a.Sizes("", 2, 1, 9)
	a.Need("k", 1, 9)
	a.Int("n", 1, 1, 9)
	a.Share("lost")
	a.Seed("seed", 1)
	a.Word("order", "up", "down")
}

func TestFaults(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"t:3x3,k=1", ""},
		{"t", "the first value is missing"},
		{"t:", "an element is empty"},
		{"t:3,", "an element is empty"},
		{"t:3,=1", "an element is empty"},
		{"t:3,4,k=1", `"4" has no key`},
		{"t:3,k=1,k=2", "k is given twice"},
		{"t:3", "k is missing: want a whole number from 1 to 9"},
		{"t:3x3x3,k=1", `the first value is "3x3x3": want 1 to 2 sizes`},
		{"t:3x,k=1", `size 2 is "": want a whole number from 1 to 9`},
		{"t:3x10,k=1", `size 2 is "10": want a whole number from 1 to 9`},
		{"t:3,k=0", `k is "0": want a whole number from 1 to 9`},
		{"t:3,k=99999999999999999999", "k is"},
		{"t:3,k=1,n=1.5", `n is "1.5"`},
		{"t:3,k=1,lost=2", `lost is "2": want a number from 0 to 1`},
		{"t:3,k=1,lost=NaN", "lost is"},
		{"t:3,k=1,seed=-1", "seed is"},
		{"t:3,k=1,order=left", `order is "left": want up or down`},
		{"t:3,k=1,other=2", "t does not know the key other"},
		{"t:3,k=0,n=0", "k is"}, // the first one counts
		{"t:3" + manyKeys(), "more than 64 elements"},
	} {
		a := Read(test.text)
		take(a)
		err := a.Close()
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", test.text, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: error %v, want %q", test.text, err, test.want)
		}
	}
}

func manyKeys() string {
	var b strings.Builder
	for i := range 1 << 16 {
		fmt.Fprintf(&b, ",k%d=1", i)
	}
	return b.String()
}

func TestLongTextIsClipped(t *testing.T) {
	a := Read("t:k=" + strings.Repeat("9", 1<<16))
	a.Need("k", 1, 9)
	if err := a.Close(); err == nil || len(err.Error()) > 300 {
		t.Errorf("error %v", err)
	}
}

func TestProduct(t *testing.T) {
	for _, test := range []struct {
		sizes []int
		want  int
	}{
		{nil, 1},
		{[]int{3, 4, 5}, 60},
		{[]int{3, 0, 5}, 0},
		{[]int{math.MaxInt, 2}, math.MaxInt},
		{[]int{math.MaxInt / 2, 2}, math.MaxInt - 1},
	} {
		if got := Product(test.sizes...); got != test.want {
			t.Errorf("Product(%v) = %d, want %d", test.sizes, got, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{"t:3x3,k=1", "t", "t:,", `t:"a,b",k="`, "t:k==", ":=,\"", "t:3x3,k=1,lost=1e-3,seed=7,order=up"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := Read(text)
		sizes := a.Sizes("", 2, 1, 9)
		if len(sizes) < 1 || len(sizes) > 2 || Product(sizes...) > 81 {
			t.Errorf("sizes %v", sizes)
		}
		if k := a.Need("k", 1, 9); k < 1 || k > 9 {
			t.Errorf("k = %d", k)
		}
		if x := a.Share("lost"); !(x >= 0 && x <= 1) {
			t.Errorf("lost = %v", x)
		}
		a.Word("order", "up", "down")
		if err := a.Close(); err == nil && a.Name() != Name(text) {
			t.Errorf("name %q, want %q", a.Name(), Name(text))
		}
	})
}
