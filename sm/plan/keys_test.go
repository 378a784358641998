package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/ib"
	"heddle/sm/partition"
)

func TestPlaceKeys(t *testing.T) {
	type keys = []ib.PKey
	tests := []struct {
		name          string
		held          keys
		want          partition.Keys
		table, missed keys
	}{
		{"power on", keys{0xffff, 0, 0, 0}, partition.Keys{First: 0xffff, Others: keys{0x8010, 0x11}}, keys{0xffff, 0x8010, 0x11, 0}, nil},
		{"nothing held", keys{0, 0}, partition.Keys{First: 0x7fff, Others: keys{0x8010}}, keys{0x7fff, 0x8010}, nil},
		{"kept where they are", keys{0xffff, 0, 0x8012, 0x8011}, partition.Keys{First: 0xffff, Others: keys{0x8010, 0x8011, 0x8012}}, keys{0xffff, 0x8010, 0x8012, 0x8011}, nil},
		{"removed", keys{0xffff, 0x8010, 0x8011}, partition.Keys{First: 0xffff, Others: keys{0x8011}}, keys{0xffff, 0, 0x8011}, nil},
		{"held twice", keys{0xffff, 0x8010, 0x8010}, partition.Keys{First: 0xffff, Others: keys{0x8010}}, keys{0xffff, 0x8010, 0}, nil},
		{"membership changes in place", keys{0xffff, 0x8010, 0x11}, partition.Keys{First: 0x7fff, Others: keys{0x10, 0x8011}}, keys{0x7fff, 0x10, 0x8011}, nil},
		{"second key of a partition", keys{0xffff, 0x8010, 0x11, 0}, partition.Keys{First: 0xffff, Others: keys{0x10, 0x8010, 0x11}}, keys{0xffff, 0x8010, 0x11, 0x10}, nil},
		{"index 0 on request", keys{0xffff, 0, 0x8010}, partition.Keys{First: 0x8010, Insist: true, Others: keys{0xffff}}, keys{0x8010, 0, 0xffff}, nil},
		{"index 0 on request, new", keys{0xffff, 0}, partition.Keys{First: 0x8010, Insist: true, Others: keys{0xffff}}, keys{0x8010, 0xffff}, nil},
		{"index 0 is another's who stays", keys{0x8010, 0xffff}, partition.Keys{First: 0xffff, Others: keys{0x8010}}, keys{0x8010, 0xffff}, nil},
		{"index 0 gets free", keys{0x8010, 0xffff, 0}, partition.Keys{First: 0xffff}, keys{0xffff, 0, 0}, nil},
		{"too short", keys{0xffff, 0}, partition.Keys{First: 0xffff, Others: keys{0x8010, 0x8011}}, keys{0xffff, 0x8010}, keys{0x8011}},
		{"too short for what stood at 0", keys{0xffff}, partition.Keys{First: 0x8010, Insist: true, Others: keys{0xffff}}, keys{0x8010}, keys{0xffff}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			table, missed := placeKeys(test.held, test.want)
			if diff := cmp.Diff(test.table, table); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.missed, missed); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlaceKeysProperty: the table holds what is wanted and nothing else but
// what is said to be missing, which is there only where the table is full;
// what was held and is wanted stays, but for index 0 and whom it displaces; and
// a table as it should be stays as it is.
func TestPlaceKeysProperty(t *testing.T) {
	key := rapid.Map(rapid.IntRange(1, 6), func(n int) ib.PKey { return ib.PKey(n&1)<<15 | ib.PKey(1+n/2) })
	entry := rapid.OneOf(rapid.Just(ib.PKey(0)), key)
	rapid.Check(t, func(t *rapid.T) {
		held := rapid.SliceOfN(entry, 1, 8).Draw(t, "held")
		want := rapid.SliceOfNDistinct(key, 1, 6, rapid.ID).Draw(t, "want")
		k := partition.Keys{First: want[0], Others: want[1:], Insist: rapid.Bool().Draw(t, "insist")}
		table, missing := placeKeys(held, k)
		got := slices.Sorted(slices.Values(append(slices.DeleteFunc(slices.Clone(table), isEmpty), missing...)))
		if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
			t.Fatalf("placed and missing (-want +got):\n%s", diff)
		}
		if len(missing) > 0 && slices.Contains(table, 0) || k.Insist && table[0] != k.First || table[0] == 0 {
			t.Fatalf("table %v, missing %v", table, missing)
		}
		for i, h := range held {
			moved := h == k.First && table[0] == h || h == held[0] && i == 0 && k.Insist
			if slices.Contains(want, h) && slices.Index(held, h) == i && table[i] != h && !moved {
				t.Fatalf("%v moved from %d: %v", h, i, table)
			}
		}
		if again, _ := placeKeys(table, k); len(missing) == 0 && !slices.Equal(again, table) {
			t.Fatalf("%v becomes %v", table, again)
		}
	})
}

func isEmpty(key ib.PKey) bool { return key == 0 }
