package format_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/ib"
)

// drawFabric draws a fabric of any kinds of nodes, with parallel cables, self
// links, multi-port adapters and all widths and speeds.
func drawFabric(t *rapid.T) *fabric.Fabric {
	var b fabric.Builder
	var free []fabric.End
	nodes := rapid.IntRange(0, 12).Draw(t, "nodes")
	for i := range nodes {
		n := drawNode(t, i)
		id := b.AddNode(n, fabric.Place{})
		for p := range int(n.NumPorts) + 1 {
			e := fabric.End{Node: id, Port: uint16(p)}
			b.SetPort(e, drawPort(t), fabric.Place{})
			if p > 0 {
				free = append(free, e)
			}
		}
	}
	free = rapid.Permutation(free).Draw(t, "ends")
	links := rapid.IntRange(0, len(free)/2).Draw(t, "links")
	for i := range links {
		b.Cable(free[2*i], free[2*i+1], drawRate(t), fabric.Place{})
	}
	f, _ := b.Build()
	return f
}

func drawNode(t *rapid.T, i int) fabric.Node {
	kind := fabric.Kind(rapid.IntRange(1, 3).Draw(t, "kind"))
	n := fabric.Node{
		GUID:       ib.GUID(rapid.Uint64Range(1, 1<<40).Draw(t, "guid")<<16 | uint64(i)<<8),
		Kind:       kind,
		Name:       drawName(t),
		NumPorts:   rapid.Uint16Range(0, 6).Draw(t, "ports"),
		SystemGUID: ib.GUID(rapid.Uint64().Draw(t, "system")),
		VendorID:   rapid.Uint32().Draw(t, "vendor"),
		DeviceID:   rapid.Uint32Range(0, 1<<16-1).Draw(t, "device"),
	}
	if kind == fabric.Switch {
		n.EnhancedPort0 = rapid.Bool().Draw(t, "enhanced")
		n.MulticastCap = rapid.Int32Range(-1, 1<<14).Draw(t, "cap")
	}
	if kind == fabric.Adapter {
		n.Aggregation = rapid.Bool().Draw(t, "aggregation")
	}
	if rapid.Bool().Draw(t, "custom ID") {
		n.ID = fmt.Sprintf("%s%d", rapid.SampledFrom([]string{"Switch", "H-", "node [1]", "ö="}).Draw(t, "ID"), i)
	}
	return n
}

// drawName draws names that were seen, or could be: T3.
func drawName(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"", "node1 HCA-1", "selene-cache-02 mlx5_1 ", "MT4129 ConnectX7   Mellanox Technologies",
			"Mellanox Technologies Aggregation Node", "MF0;switch-de779e:SX6012/U1", "a#b", "#", `say "x"`, `"`,
			" leading", `x" lid 5 4xHDR`, "rate=9 e=500", "lid 3 lmc 1", "{brace} LID:1", "} LID:", "latin-\xe9", "größe 東京",
			"tab\there", "x [1] \"S-1\"[2] # ", "<&>",
		}),
		rapid.String(),
		rapid.StringOfN(rapid.RuneFrom([]rune(`a "#[]{}=:;\`)), 0, 12, -1),
	).Draw(t, "name")
}

func drawPort(t *rapid.T) fabric.PortInfo {
	return fabric.PortInfo{
		GUID: ib.GUID(rapid.Uint64Range(0, 1<<62).Draw(t, "port GUID")),
		LID:  ib.LID(rapid.Uint16Range(0, 0xBFFF).Draw(t, "lid")),
		LMC:  rapid.Uint8Range(0, 7).Draw(t, "lmc"),
	}
}

func drawRate(t *rapid.T) ib.LinkRate {
	return ib.LinkRate{
		Width: ib.Width(rapid.Uint8Range(0, uint8(ib.Width12x)).Draw(t, "width")),
		Speed: ib.Speed(rapid.Uint8Range(0, uint8(ib.XDR)).Draw(t, "speed")),
	}
}

// TestRoundTrip writes and reads any fabric in each format that can be read.
func TestRoundTrip(t *testing.T) {
	for _, form := range format.All() {
		if form.Read == nil {
			continue
		}
		t.Run(form.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := drawFabric(t)
				text := write(t, f, form.Name)
				if text == "" {
					return // subnet.lst of no link
				}
				got, _ := read(t, text, form.Name)
				v := viewOf(got)
				if form.Name == "subnet.lst" {
					v.sortNodes()
				}
				if diff := cmp.Diff(kept(f, form.Name), v); diff != "" {
					t.Fatalf("(-wrote +read):\n%s\n%s", diff, text)
				}
			})
		})
	}
}
