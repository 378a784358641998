package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"heddle/cli/text"
	"heddle/fabric"
	"heddle/route"

	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	var asJSON bool
	var input string
	cmd := &cobra.Command{
		Use: "show FABRIC", Short: "Describe a fabric",
		Long: "Describe a fabric: its nodes and links by kind, how far switches are from each\n" +
			"other, whether they are layered as a tree.\n\n" + fabricHelp,
		Args: argument("FABRIC"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.open(args[0], input)
			if err != nil {
				return err
			}
			a.warn(s)
			v, err := describe(s.Fabric)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(a.out, v)
			}
			return buffered(a.out, func(w io.Writer) error { return v.write(w, s.name) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	inputFlag(cmd, &input)
	return cmd
}

// view describes a fabric.
type view struct {
	Switches    int `json:"switches"`
	Adapters    int `json:"adapters"`
	Aggregation int `json:"aggregation"` // of the adapters
	Routers     int `json:"routers"`
	// EndPorts are the adapter ports with a cable.
	EndPorts int `json:"endPorts"`
	// Links joins everything, SwitchLinks switches only.
	Links       int         `json:"links"`
	SwitchLinks int         `json:"switchLinks"`
	Rates       []rateCount `json:"rates"`
	Components  int         `json:"components"`
	// Diameter is the largest number of hops between two switches of a component.
	Diameter int `json:"diameter"`
	// Ranks counts the switches of each rank, from the top; it is empty where
	// switches are not layered as a tree.
	Ranks []int `json:"ranks"`
	// LeafHosts counts switches by the number of hosts on them.
	LeafHosts []hostCount `json:"leafHosts"`
	// SwitchPorts counts switches by the number of their ports.
	SwitchPorts []portCount `json:"switchPorts"`
}

type rateCount struct {
	Rate  string `json:"rate"`
	Links int    `json:"links"`
}

type hostCount struct {
	Hosts    int `json:"hosts"`
	Switches int `json:"switches"`
}

type portCount struct {
	Ports    int `json:"ports"`
	Switches int `json:"switches"`
}

func describe(f *fabric.Fabric) (view, error) {
	g := route.NewGraph(f, route.Selection{})
	summary := f.Summary(nil)
	v := view{
		Switches: summary.Switches, Adapters: summary.Adapters, Routers: summary.Routers,
		EndPorts: len(f.EndPorts()), Components: summary.Components, Ranks: rankCounts(g),
	}
	for _, id := range f.Adapters() {
		if f.Node(id).Aggregation {
			v.Aggregation++
		}
	}
	v.countLinks(f, g)
	v.countSwitches(f, g)
	h, err := route.NewHops(g, runtime.GOMAXPROCS(0))
	if err != nil {
		return view{}, err
	}
	v.Diameter = int(h.Max())
	return v, nil
}

func (v *view) countLinks(f *fabric.Fabric, g *route.Graph) {
	rates := map[string]int{}
	for id := range fabric.LinkID(f.NumLinks()) {
		if !f.LinkUp(id) {
			continue
		}
		v.Links++
		rates[f.Link(id).Rate.String()]++
		if e := g.Edge(id); e >= 0 && g.EdgeUp(e) {
			v.SwitchLinks++
		}
	}
	v.Rates = []rateCount{}
	for _, rate := range slices.Sorted(maps.Keys(rates)) {
		v.Rates = append(v.Rates, rateCount{rate, rates[rate]})
	}
	slices.SortStableFunc(v.Rates, func(a, b rateCount) int { return cmp.Compare(b.Links, a.Links) })
}

func (v *view) countSwitches(f *fabric.Fabric, g *route.Graph) {
	hosts, ports := map[int]int{}, map[int]int{}
	for x := range int32(g.NumVertices()) {
		if !g.Usable(x) {
			continue
		}
		hosts[g.HostsAt(x)]++
		ports[int(f.Node(g.Node(x)).NumPorts)]++
	}
	v.LeafHosts, v.SwitchPorts = []hostCount{}, []portCount{}
	for _, n := range slices.Sorted(maps.Keys(hosts)) {
		v.LeafHosts = append(v.LeafHosts, hostCount{n, hosts[n]})
	}
	for _, n := range slices.Sorted(maps.Keys(ports)) {
		v.SwitchPorts = append(v.SwitchPorts, portCount{n, ports[n]})
	}
}

func rankCounts(g *route.Graph) []int {
	counts := []int{}
	ranks, ok := route.Ranks(g)
	if !ok {
		return counts
	}
	for v, r := range ranks {
		if !g.Usable(int32(v)) {
			continue
		}
		for len(counts) <= int(r) {
			counts = append(counts, 0)
		}
		counts[r]++
	}
	return counts
}

func (v view) write(out io.Writer, name string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "fabric\t%s\n", name)
	fmt.Fprintf(w, "switches\t%s\t%s\n", text.Thousands(v.Switches), portText(v.SwitchPorts))
	fmt.Fprintf(w, "adapters\t%s\t%s\n", text.Thousands(v.Adapters), v.adapterText())
	fmt.Fprintf(w, "routers\t%s\n", text.Thousands(v.Routers))
	fmt.Fprintf(w, "links\t%s\t%s between switches; %s\n", text.Thousands(v.Links), text.Thousands(v.SwitchLinks), rateText(v.Rates))
	fmt.Fprintf(w, "components\t%s\n", text.Thousands(v.Components))
	fmt.Fprintf(w, "diameter\t%d\t%s\n", v.Diameter, "hops between switches, at most")
	fmt.Fprintf(w, "ranks\t%d\t%s\n", len(v.Ranks), rankText(v.Ranks))
	fmt.Fprintf(w, "hosts\t\t%s\n", hostText(v.LeafHosts))
	return w.Flush()
}

func (v view) adapterText() string {
	s := text.Count(v.EndPorts, "port") + " with a cable"
	if v.Aggregation > 0 {
		s += "; " + text.Count(v.Aggregation, "aggregation node") + " inside of switches"
	}
	return s
}

func portText(list []portCount) string {
	return join(list, func(p portCount) string { return fmt.Sprintf("%s of %d ports", text.Thousands(p.Switches), p.Ports) })
}

func rateText(list []rateCount) string {
	return join(list, func(r rateCount) string { return fmt.Sprintf("%s at %s", text.Thousands(r.Links), r.Rate) })
}

func hostText(list []hostCount) string {
	return join(list, func(h hostCount) string { return fmt.Sprintf("%d each on %s", h.Hosts, switches(h.Switches)) })
}

func rankText(ranks []int) string {
	if len(ranks) == 0 {
		return "not layered as a tree"
	}
	return "switches from the top: " + join(ranks, text.Thousands)
}

func switches(n int) string {
	if n == 1 {
		return "1 switch"
	}
	return text.Thousands(n) + " switches"
}

func join[T any](list []T, word func(T) string) string {
	var words []string
	for _, x := range list {
		words = append(words, word(x))
	}
	return strings.Join(words, ", ")
}
