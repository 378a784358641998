package multicast

import (
	"errors"
	"runtime"

	"heddle/route"
)

// Config is how a Router works. Engines must name one; what else is zero has a
// good default.
type Config struct {
	// Engines lay the trees, the best first: where one fails, the next is
	// tried.
	Engines []Engine
	// Workers is how many goroutines look for distances; zero means one for
	// each CPU.
	Workers int
	// Run calls f, which calls an engine that may never return, and waits for it.
	// An error means that f is not waited for any more; what it works on is left to
	// it then. Nil waits for ever.
	Run func(engine string, f func()) error
}

// Engine is one of route/multicast, as a Router calls it.
type Engine struct {
	Name string
	New  func(*route.Graph, *route.Hops) route.Router
}

// New makes a router. It has no fabric before the first Rebase.
func New(cfg Config) (*Router, error) {
	if len(cfg.Engines) == 0 {
		return nil, errors.New("multicast: no routing engine")
	}
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.NumCPU()
	}
	if cfg.Run == nil {
		cfg.Run = func(_ string, f func()) error { f(); return nil }
	}
	return &Router{cfg: cfg}, nil
}
