package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	trees "heddle/route/multicast"
	"heddle/route/unicast"
	"heddle/sm"
	"heddle/sm/group"
	"heddle/sm/multicast"
	"heddle/sm/partition"
	"heddle/sm/plan"

	"github.com/spf13/cobra"
)

// smFlags are the flags of heddle sm.
type smFlags struct {
	port     portFlags
	engines  []string
	trees    []string
	effort   int
	parts    string
	once     bool
	window   int
	priority uint8
	smKey    uint64
	perNode  int
	interval time.Duration
	state    stateFlags
	files    fileFlags
	log      logFlags
	ctl      string
	metrics  string
	limits   group.Limits
	traps    sm.TrapRules
	babbling bool
	share    string
	qos      bool
	lanes    *plan.QoSRules // for qos; nil for OpenSM's
	// what only an opensm.conf says
	base        sm.Config
	partOptions partition.Options
}

func (a *app) smCommand() *cobra.Command {
	f := smFlags{base: sm.Config{Ports: plan.DefaultPortRules()}}
	cmd := &cobra.Command{
		Use: "sm", Short: "Manage a subnet",
		Long: "Bring a subnet up and keep it up: give its ports LIDs, write the forwarding tables\n" +
			"of its switches, take its links to Active, and follow what changes, until it is\n" +
			"interrupted. SIGHUP makes it read its files and look at the whole subnet again,\n" +
			"SIGUSR1 open its log anew and dump; heddle sm status, resweep, reroute, groups\n" +
			"and dump command it meanwhile.\n\n" + portHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			s, err := a.smSetup(cmd.Flags().Changed, f)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, s.log.close()) }()
			return a.manage(s)
		},
	}
	f.port.flags(cmd)
	f.state.flags(cmd)
	f.files.flags(cmd)
	f.log.flags(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&f.engines, "unicast", []string{autoEngine}, "unicast engines, the next where one fails; auto is updown where switches are layered as in a tree, else minhop, with a warning")
	flags.StringSliceVar(&f.trees, "multicast", []string{"weave", "fulb"}, "multicast engines, the next where one fails")
	flags.IntVar(&f.effort, "effort", 1, "effort of weave: 1, 2 or 3")
	flags.StringVar(&f.parts, "partitions", "", "`FILE` in the form of OpenSM's partitions.conf; without it all ports are in one partition")
	flags.BoolVar(&f.once, "once", false, "bring the subnet up, say what was done, and end; where another manager is the master, that is an error")
	flags.DurationVar(&f.interval, "interval", 10*time.Second, "how often each switch is asked whether something changed")
	flags.Uint8Var(&f.priority, "priority", 0, "among several managers the highest is master: 0 to 15")
	flags.Uint64Var(&f.smKey, "sm-key", 1, "what managers have in common that trust each other")
	flags.IntVar(&f.window, "window", 64, "SMPs that wait for an answer at once")
	flags.IntVar(&f.perNode, "per-node", 2, "of them, those to one node")
	flags.IntVar(&f.limits.Groups, "client-groups", 1<<12, "groups that one port may create, and that may wait for their members")
	flags.IntVar(&f.limits.Share, "client-share", 50, "`PERCENT` of the MLIDs that the groups which one port created may take")
	flags.IntVar(&f.limits.Proxied, "client-members", 1<<16, "members that one port may join for others")
	flags.IntVar(&f.traps.Unhealthy, "trap-repeats", 10, "after so many repeated traps of errors a port counts as unhealthy")
	flags.DurationVar(&f.traps.Window, "trap-window", 5*time.Second, "what comes later than this after the last one is no repetition")
	flags.BoolVar(&f.babbling, "babbling-port-policy", false, "disable the link of a port that repeats traps of errors 250 times")
	flags.StringVar(&f.share, "share-mlids", "off", "which groups of one partition may share an MLID: off, ipv6 (solicited-node groups, always) or all (those, and any where no MLID is free)")
	flags.BoolVar(&f.qos, "qos", false, "service levels of partitions count, and go by the lanes that links have, as the qos_ options of --conf say")
	flags.StringVar(&f.ctl, "ctl", "", ctlUsage)
	flags.StringVar(&f.metrics, "metrics", "", "serve metrics for Prometheus at `ADDRESS`, such as 127.0.0.1:9109")
	cmd.AddCommand(a.smOrderCommands()...)
	return cmd
}

// babblingLimit is OpenSM's.
const babblingLimit = 250

// autoEngine stands for the engines that fit the fabric.
const autoEngine = "auto"

// unicastEngines looks up engines as a Manager takes them.
func unicastEngines(names []string, roots []ib.GUID) (engines []sm.Unicast, err error) {
	for _, name := range names {
		if name = strings.TrimSpace(name); name == autoEngine {
			fitting, err := unicastEngines([]string{"updown", "minhop", "updown"}, roots)
			if err != nil {
				return nil, err
			}
			fitting[0].Ranked = len(roots) == 0 // which make ranks
			engines = append(engines, fitting...)
			continue
		}
		e, err := unicast.Lookup(name)
		if err != nil {
			return nil, usagef("--unicast: %v", err)
		}
		engines = append(engines, sm.Unicast{
			Name: e.Name,
			Route: func(g *route.Graph, h *route.Hops, lids *route.LIDs, workers int) (*route.LFTs, error) {
				from, err := rootSwitches(g, roots)
				if err != nil {
					return nil, err
				}
				return e.Route(g, h, lids, unicast.Options{Workers: workers, Roots: from, Connect: true})
			},
		})
	}
	return engines, nil
}

// rootSwitches finds switches in a fabric; an error is of roots of which none is
// there.
func rootSwitches(g *route.Graph, roots []ib.GUID) (vertices []int32, err error) {
	for _, guid := range roots {
		if id, ok := g.Fabric().ByGUID(guid); ok && g.Vertex(id) >= 0 {
			vertices = append(vertices, g.Vertex(id))
		}
	}
	if len(roots) > 0 && len(vertices) == 0 {
		return nil, fmt.Errorf("none of the %d root switches is in the fabric", len(roots))
	}
	return vertices, nil
}

// treeEngines looks up those that lay the trees of groups.
func treeEngines(names []string, effort int) (engines []multicast.Engine, err error) {
	for _, name := range names {
		e, err := trees.Lookup(strings.TrimSpace(name))
		if err != nil {
			return nil, usagef("--multicast: %v", err)
		}
		engines = append(engines, multicast.Engine{
			Name: e.Name,
			New: func(g *route.Graph, h *route.Hops) route.Router {
				return e.New(g, h, trees.Options{Effort: effort})
			},
		})
	}
	return engines, nil
}

func (a *app) smConfig(f smFlags, log *slog.Logger) (cfg sm.Config, err error) {
	if f.limits.Groups < 1 || f.limits.Proxied < 1 {
		return cfg, usagef("--client-groups %d --client-members %d: want numbers above 0", f.limits.Groups, f.limits.Proxied)
	}
	if f.limits.Share < 1 || f.limits.Share > 100 {
		return cfg, usagef("--client-share %d: want 1 to 100", f.limits.Share)
	}
	if f.effort < 1 || f.effort > 3 {
		return cfg, usagef("--effort %d: want 1, 2 or 3", f.effort)
	}
	if f.priority > 15 {
		return cfg, usagef("--priority %d: want 0 to 15", f.priority)
	}
	cfg = f.base
	cfg.Interval, cfg.Priority, cfg.SMKey, cfg.Log = f.interval, f.priority, mad.SMKey(f.smKey), log
	if f.traps.Unhealthy < 1 || f.traps.Window <= 0 {
		return cfg, usagef("--trap-repeats %d --trap-window %v: want more than 0", f.traps.Unhealthy, f.traps.Window)
	}
	if cfg.Traps = f.traps; f.babbling {
		cfg.Traps.DisableAt = babblingLimit
	}
	switch f.share {
	case "off":
	case "ipv6":
		cfg.Groups.ShareSolicitedNode = true
	case "all":
		cfg.Groups.ShareSolicitedNode, cfg.Groups.Share = true, true
	default:
		return cfg, usagef("--share-mlids %s: want off, ipv6 or all", f.share)
	}
	f.limits.Pending = f.limits.Groups
	cfg.Groups.Limits = f.limits
	cfg.Ask.Call, cfg.Ask.Window, cfg.Ask.PerNode = f.port.call(), f.window, f.perNode
	roots, err := readRoots(f.files.roots)
	if err != nil {
		return cfg, err
	}
	if cfg.Unicast, err = unicastEngines(f.engines, roots); err != nil {
		return cfg, err
	}
	if cfg.Multicast, err = treeEngines(f.trees, f.effort); err != nil {
		return cfg, err
	}
	if f.qos {
		cfg.QoS = plan.DefaultQoSRules()
		if f.lanes != nil {
			cfg.QoS = f.lanes
		}
		cfg.QoS.Always = true
	}
	f.partOptions.Name, f.partOptions.QoS = f.parts, f.qos
	cfg.PKeys.Partitions, err = readPartitions(f.partOptions, log)
	return cfg, err
}

// readPartitions reads a partitions.conf, and tells what is wrong with it.
func readPartitions(o partition.Options, log *slog.Logger) (*partition.Config, error) {
	if o.Name == "" {
		return partition.Default(), nil
	}
	r, err := os.Open(o.Name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cfg, faults, err := partition.Read(r, o)
	for _, fault := range faults {
		log.Warn("partitions", "fault", fault.Error())
	}
	return cfg, err
}

// useHalf runs goroutines on half of the processors, unless GOMAXPROCS says
// otherwise. A manager answers very many short requests: the more processors
// take part, the more of the time goes into waking them up, and the programs
// that ask have less left.
func useHalf() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2))
	}
}

func (a *app) manage(s *smSetup) (err error) {
	useHalf()
	f, cfg := s.flags, s.cfg
	state, err := f.state.open(&cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, state.close()) }()
	port, err := f.port.open()
	if err != nil {
		return err
	}
	defer port.Close() //nolint:errcheck // all is answered
	var up chan sm.Report
	if f.once {
		up = tellUp(&cfg)
	}
	m, err := sm.New(port, cfg)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process, whatever it is at
	if f.once {
		return a.bringUp(ctx, m, up)
	}
	return a.runManager(ctx, s, m)
}
