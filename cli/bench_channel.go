package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/channel"
	"heddle/cli/bench"
	"heddle/cli/perf"

	"github.com/spf13/cobra"
)

// channelBenchFlags are the flags of heddle bench channel.
type channelBenchFlags struct {
	peer              string
	questions         []string
	providers, assume []string
	kinds             []string
	sizes, ends       []int
	runs              int
	time              time.Duration
	json              bool
	markdown          string
	csv, svg          string
}

func (a *app) benchChannelCommand() *cobra.Command {
	var f channelBenchFlags
	cmd := &cobra.Command{
		Use: "channel", Short: "Measure channels, beside UCX and sockets, and ask what the paper asks",
		Long: "Send messages over channels between two processes. With --peer ucx the best channel of\n" +
			"each size, by a lease or for short messages by Send, stands beside UCX's shared memory\n" +
			"(ucx_perftest, UCX_TLS=posix,self), a Unix socket and TCP. Without it, or with\n" +
			"--question, the questions of the evaluation of\n" +
			"\"Efficient RDMA Communication Protocols\" are asked:\n\n" + questionHelp() +
			"\nOf the provider sim, what is asked is counted, on a simulated network: half round trips,\n" +
			"requests and memory. Runs are interleaved, figures are medians.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.benchChannel(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.peer, "peer", "", "measure this beside: ucx")
	set.StringSliceVar(&f.questions, "question", nil, "what is asked, or all")
	set.StringSliceVar(&f.providers, "provider", []string{"shm"}, "providers whose first devices are measured, or PROVIDER/DEVICE; sim")
	set.StringSliceVar(&f.assume, "assume", nil, "what you know of the device and it does not tell: "+assumeHelp)
	set.StringSliceVar(&f.kinds, "kinds", nil, "kinds of channels, instead of those that a question has")
	set.IntSliceVar(&f.sizes, "sizes", nil, "bytes of messages, instead of those that a question has")
	set.IntSliceVar(&f.ends, "ends", nil, "how many senders or readers, instead of 1,2,4,8,16,32,64")
	set.IntVar(&f.runs, "runs", 5, "runs of which medians are taken")
	set.DurationVar(&f.time, "time", 20*time.Millisecond, "how long each figure is measured in a run")
	set.BoolVar(&f.json, "json", false, "write one JSON object a line")
	set.StringVar(&f.markdown, "markdown", "", "file to write the tables to as Markdown")
	set.StringVar(&f.csv, "csv", "", "file to write the figures to as comma-separated values")
	set.StringVar(&f.svg, "svg", "", "directory to write a picture of each answer to")
	return cmd
}

// questionHelp tells what each question asks.
func questionHelp() string {
	var b strings.Builder
	names, asks := bench.QuestionNames()
	for i, name := range names {
		fmt.Fprintf(&b, "  %-14s %s?\n", name, asks[i])
	}
	return b.String()
}

// check fills in what is not said and finds what cannot be.
func (f *channelBenchFlags) check() error {
	names, _ := bench.QuestionNames()
	if len(f.questions) == 0 && f.peer == "" || slices.Contains(f.questions, "all") {
		f.questions = names
	}
	for _, q := range f.questions {
		if !slices.Contains(names, q) {
			return usagef("no question %q; there are %s and all", q, strings.Join(names, ", "))
		}
	}
	if f.peer != "" && f.peer != "ucx" {
		return usagef("no peer %q; there is ucx", f.peer)
	}
	if f.runs < 1 || f.time < time.Microsecond || f.time > time.Minute {
		return usagef("--runs must be at least 1 and --time 1us to 1m, not %d and %v", f.runs, f.time)
	}
	if _, err := assumptions(f.assume); err != nil {
		return err
	}
	for _, k := range f.kinds {
		if _, err := channel.Find(k); err != nil {
			return &usageError{err}
		}
	}
	return f.checkNumbers()
}

func (f *channelBenchFlags) checkNumbers() error {
	for _, size := range f.sizes {
		if size < 1 || size > 1<<20 {
			return usagef("--sizes must be 1 to %d bytes, not %d", 1<<20, size)
		}
	}
	for _, n := range f.ends {
		if n < 1 || n > perf.MaxEnds {
			return usagef("--ends must be 1 to %d, not %d", perf.MaxEnds, n)
		}
	}
	return nil
}

// simulatedCounts is the provider of which counts are told, not times.
const simulatedCounts = "sim"

// devices finds what is to be measured, but for what is counted.
func (f *channelBenchFlags) devices() (list []bench.VerbsDevice, counts bool, err error) {
	for _, name := range f.providers {
		p, of, _ := strings.Cut(name, "/")
		if p == simulatedCounts {
			if of != "" && of != "ib" || f.peer != "" && len(f.questions) == 0 {
				return nil, false, usagef("of --provider sim, questions are answered for its device ib")
			}
			counts = true
			continue
		}
		flags := deviceFlags{provider: p, device: of}
		d, err := flags.find()
		if err != nil {
			return nil, false, err
		}
		list = append(list, bench.VerbsDevice{Device: d, Provider: p})
	}
	return list, counts, nil
}

func (a *app) benchChannel(ctx context.Context, f channelBenchFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	devices, counts, err := f.devices()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt) // so that nothing is left behind
	defer stop()
	r := a.benchReport(f.json, f.markdown)
	answers, err := f.ask(ctx, &r, devices, counts)
	r.bar.end()
	if cause := context.Cause(ctx); cause != nil {
		return cause // what failed does not matter
	}
	if err != nil {
		return err
	}
	if err := f.files(answers, len(devices) > 1); err != nil {
		return err
	}
	return r.write()
}

// ask measures what is asked for, and reports it.
func (f *channelBenchFlags) ask(ctx context.Context, r *benchReport, devices []bench.VerbsDevice, counts bool) (all []bench.Answer, err error) {
	b := bench.Channel{
		Questions: f.questions, Peer: f.peer != "", Runs: f.runs, Time: f.time, Sizes: f.sizes, Ends: f.ends, Kinds: f.kinds,
		Watch: r.watch,
	}
	if b.Program, err = os.Executable(); err != nil {
		return nil, err
	}
	if b.Assume, err = assumptions(f.assume); err != nil {
		return nil, err
	}
	tell := func(list []bench.Answer, err error) error {
		r.bar.end()
		if err != nil {
			return err
		}
		all = append(all, list...)
		return r.answers(list)
	}
	if counts {
		if err := tell(b.Count(ctx)); err != nil {
			return nil, fmt.Errorf("sim: %w", err)
		}
	}
	for _, d := range devices {
		if err := tell(b.Measure(ctx, d)); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", d.Provider, d.Name(), err)
		}
	}
	return all, nil
}

// answers takes over what was measured.
func (r *benchReport) answers(list []bench.Answer) error {
	for _, a := range list {
		for _, f := range a.Figures {
			if err := r.line(f); err != nil {
				return err
			}
		}
		r.grids = append(r.grids, a.Grids...)
	}
	return nil
}

// files writes what was measured in other forms. The picture of an answer is
// called as the question is, with the device before it where there are several.
func (f *channelBenchFlags) files(answers []bench.Answer, several bool) error {
	if f.csv != "" {
		if err := writeFile(f.csv, func(w io.Writer) error { return bench.WriteCSV(w, answers) }); err != nil {
			return err
		}
	}
	if f.svg == "" {
		return nil
	}
	for _, a := range answers {
		if a.Chart == nil || len(a.Chart.Panels) == 0 {
			continue
		}
		name := a.Question + ".svg"
		if several {
			name = strings.ReplaceAll(a.Figures[0].Device, "/", "-") + "-" + name
		}
		if err := writeFile(filepath.Join(f.svg, name), a.Chart.SVG); err != nil {
			return err
		}
	}
	return nil
}
