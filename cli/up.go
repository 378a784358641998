package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"heddle/cli/compare"
	"heddle/fabric"
	"heddle/internal/lab"

	"github.com/spf13/cobra"
)

// upFlags are those of heddle up.
type upFlags struct {
	lab.Scenario
	inputFormat string
	scenario    string
	engine      string
	compare     []string
	html        string
	limit       time.Duration
	asJSON      bool
}

// upFabric is the default: a fat tree of 128 hosts.
const upFabric = "fat-tree:k=8"

func (a *app) upCommand() *cobra.Command {
	f := upFlags{Scenario: lab.Scenario{Groups: 200, Members: 8, Message: 64 << 10, Rounds: 2, Cut: 1, Seed: 1}}
	cmd := &cobra.Command{
		Use: "up [FABRIC]", Short: "Run a whole subnet in this process: emulator, subnet manager, hosts, reliable broadcasts",
		Long: "Bring up an emulated FABRIC (by default " + upFabric + ") with heddle's subnet manager, put a\n" +
			"software device on each host, have groups of hosts join at the manager, and have the\n" +
			"first member of each broadcast to the others: packets go through the switches' tables,\n" +
			"down the trees that the manager laid, and what is lost is fetched by RDMA READs. In the\n" +
			"middle links die. The report says what happened; every byte that came is compared.\n\n" +
			"A scenario file is a JSON object with groups, members, message, rounds, cut, loss, seed,\n" +
			"slots; flags win over it.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.read(cmd); err != nil {
				return err
			}
			return a.up(cmd.Context(), append(args, upFabric)[0], f)
		},
	}
	set := cmd.Flags()
	inputFlag(cmd, &f.inputFormat)
	set.StringVar(&f.scenario, "scenario", "", "`FILE` with a scenario, in place of flags")
	set.IntVar(&f.Groups, "groups", f.Groups, "how many groups there are")
	set.IntVar(&f.Members, "members", f.Members, "hosts of each, by chance")
	set.IntVar(&f.Message, "message", f.Message, "length of a broadcast in bytes")
	set.IntVar(&f.Rounds, "rounds", f.Rounds, "broadcasts of each group in a phase")
	set.IntVar(&f.Cut, "cut", f.Cut, "how many of the busiest links die in the middle")
	set.Float64Var(&f.Loss, "loss", f.Loss, "`PART` of packets that each link loses, from 0 to 1")
	set.Uint64Var(&f.Seed, "seed", f.Seed, "of all that is by chance")
	set.IntVar(&f.Slots, "slots", f.Slots, "chunks under way of a group; 0 means 16")
	set.StringVar(&f.engine, "engine", "weave", "engine that lays the trees")
	set.StringSliceVar(&f.compare, "compare", []string{"weave", "fulb", "sssp-new", "minihop"}, "engines whose trees for the same groups are compared")
	set.StringVar(&f.html, "html", "", "write the report to `FILE`, with pictures")
	set.DurationVar(&f.limit, "limit", 5*time.Minute, "how long all of it may take")
	set.BoolVar(&f.asJSON, "json", false, "write one JSON object")
	return cmd
}

// read takes what a scenario file says and the command line does not.
func (f *upFlags) read(cmd *cobra.Command) error {
	if f.scenario == "" {
		return nil
	}
	b, err := os.ReadFile(f.scenario)
	if err != nil {
		return err
	}
	file := f.Scenario
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return fmt.Errorf("%s: %w", f.scenario, err)
	}
	given := f.Scenario
	f.Scenario = file
	for name, keep := range map[string]func(){
		"groups":  func() { f.Groups = given.Groups },
		"members": func() { f.Members = given.Members },
		"message": func() { f.Message = given.Message },
		"rounds":  func() { f.Rounds = given.Rounds },
		"cut":     func() { f.Cut = given.Cut },
		"loss":    func() { f.Loss = given.Loss },
		"seed":    func() { f.Seed = given.Seed },
		"slots":   func() { f.Slots = given.Slots },
	} {
		if cmd.Flags().Changed(name) {
			keep()
		}
	}
	return nil
}

// upReport is what the report tells.
type upReport struct {
	Fabric   string       `json:"fabric"`
	Switches int          `json:"switches"`
	Hosts    int          `json:"hosts"`
	Scenario lab.Scenario `json:"scenario"`
	Engine   string       `json:"engine"`
	BringUp  float64      `json:"bringUpMs"`
	Joined   float64      `json:"joinedMs"`
	MaxEFI   [2]int       `json:"maxEFI"`
	Engines  []upEngine   `json:"engines"`
	Phases   []upPhase    `json:"phases"`
	Cuts     []upCut      `json:"cuts,omitempty"`
	Packets  upPackets    `json:"packets"`

	results []compare.Result
	problem *compare.Problem
}

type upEngine struct {
	Name   string  `json:"name"`
	MaxEFI int     `json:"maxEFI"`
	AvgEFI float64 `json:"avgEFI"`
	Ms     float64 `json:"ms"`
}

type upPhase struct {
	Name          string  `json:"name"`
	Broadcasts    int     `json:"broadcasts"`
	Received      int     `json:"received"`
	Expected      int     `json:"expected"`
	Seconds       float64 `json:"seconds"`
	GBs           float64 `json:"gigabytesPerSecond"`
	MedianMs      float64 `json:"medianMs"`
	P99Ms         float64 `json:"p99Ms"`
	Datagrams     uint64  `json:"datagrams"`
	FromNeighbour uint64  `json:"fromNeighbour"`
	FromRoot      uint64  `json:"fromRoot"`
}

type upCut struct {
	Link       string  `json:"link"`
	Share      float64 `json:"share"`
	ReroutedMs float64 `json:"reroutedMs"`
}

type upPackets struct {
	Sent      uint64 `json:"sent"`
	Copied    uint64 `json:"copied"`
	Delivered uint64 `json:"delivered"`
	Lost      uint64 `json:"lost"`
}

func (a *app) up(ctx context.Context, arg string, f upFlags) error {
	s, err := a.open(arg, f.inputFormat)
	if err != nil {
		return err
	}
	if err := f.Check(len(s.Adapters()) - 1); err != nil {
		return usagef("%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	bar := a.progress()
	bar.start("bring up", -1)
	l, err := lab.Start(ctx, s.Fabric, lab.Config{Multicast: f.engine, Loss: f.Loss})
	bar.end()
	if err != nil {
		return err
	}
	result, err := l.Run(ctx, f.Scenario, func(what string) {
		bar.end()
		bar.start(what, -1)
	})
	bar.end()
	r := upReport{
		Fabric: s.name, Switches: len(s.Switches()), Hosts: len(s.Adapters()), Scenario: f.Scenario, Engine: f.engine,
		BringUp: milliseconds(l.BringUp),
	}
	if closed := l.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	r.take(result)
	if err := r.route(s, l, result, f.compare); err != nil {
		return err
	}
	return a.report(&r, f)
}

// take puts a result into the report.
func (r *upReport) take(result *lab.Result) {
	r.Joined, r.MaxEFI = milliseconds(result.Joined), result.MaxEFI
	for i := range result.Phases {
		p := &result.Phases[i]
		r.Phases = append(r.Phases, upPhase{
			p.Name, p.Broadcasts, p.Received, p.Expected, p.Took.Seconds(), float64(p.Bytes) / p.Took.Seconds() / 1e9,
			milliseconds(p.Percentile(50)), milliseconds(p.Percentile(99)), p.Stats.Datagrams, p.Stats.FromNeighbour, p.Stats.FromRoot,
		})
	}
	for _, c := range result.Cuts {
		r.Cuts = append(r.Cuts, upCut{c.Link, c.Share, milliseconds(c.Rerouted)})
	}
	d := &result.Data
	r.Packets = upPackets{d.Sent, d.Copied, d.Delivered, d.AllLost()}
}

// route compares engines on the scenario's groups.
func (r *upReport) route(s source, l *lab.Lab, result *lab.Result, engines []string) error {
	var groups []fabric.Group
	for _, members := range result.Members {
		var g fabric.Group
		for _, host := range members {
			g.Members = append(g.Members, fabric.End{Node: l.Hosts()[host].Node, Port: 1})
		}
		groups = append(groups, g)
	}
	network, err := compare.NewNetwork(s.Fabric, nil)
	if err != nil {
		return err
	}
	r.problem = network.Problem(groups)
	runs, err := compare.Runs(engines, []int{1})
	if err != nil {
		return usagef("--compare: %v", err)
	}
	for _, run := range runs {
		one := r.problem.Route(run)
		if one.Error != "" {
			return fmt.Errorf("%s: %s", one.Label(), one.Error)
		}
		r.results = append(r.results, one)
		r.Engines = append(r.Engines, upEngine{one.Label(), one.MaxEFI, one.AvgEFI, one.TotalMs})
	}
	return nil
}

// report writes it.
func (a *app) report(r *upReport, f upFlags) error {
	write := r.text
	if f.asJSON {
		write = r.json
	}
	if err := a.output("", write); err != nil {
		return err
	}
	if f.html != "" {
		if err := a.output(f.html, r.html); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(r.Phases, func(p upPhase) bool { return p.Received != p.Expected }) {
		return fmt.Errorf("not every broadcast came to every member")
	}
	return nil
}

func (r *upReport) json(out io.Writer) error { return json.NewEncoder(out).Encode(r) }
