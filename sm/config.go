package sm

import (
	"log/slog"
	"runtime"

	"heddle/route"
	"heddle/sm/plan"
	"heddle/sm/subnet"
)

// Config is how a Manager works. Unicast must name an engine; what else is
// zero has a good default.
type Config struct {
	// Unicast are the engines that route unicast, the best first: where one
	// fails, the next is tried, with a warning.
	Unicast []Unicast
	// LIDs and Ports are the rules of their planners; zero Ports means
	// plan.DefaultPortRules.
	LIDs  plan.LIDRules
	Ports plan.PortRules
	// Ask is how SMPs are sent.
	Ask subnet.Options
	// Workers is how many goroutines route; zero means one for each CPU.
	Workers int
	Log     *slog.Logger
}

// Unicast is a routing engine of route/unicast, as the Manager calls it.
type Unicast struct {
	Name  string
	Route func(g *route.Graph, h *route.Hops, lids *route.LIDs, workers int) (*route.LFTs, error)
}

func (c Config) filled() Config {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Ports.Reregister == nil {
		c.Ports = plan.DefaultPortRules()
	}
	if c.Workers <= 0 {
		c.Workers = runtime.NumCPU()
	}
	return c
}
