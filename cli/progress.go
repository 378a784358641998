package cli

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows on a terminal how far long work is, and nothing elsewhere.
type progress struct {
	out io.Writer // nil: show nothing
	bar *progressbar.ProgressBar
}

func (a *app) progress() *progress {
	if !isTerminal(a.err) {
		return &progress{}
	}
	return &progress{out: a.err}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// start begins a piece of work of so many steps; -1 where the number is not
// known.
func (p *progress) start(what string, steps int) {
	if p.out == nil {
		return
	}
	p.bar = progressbar.NewOptions(steps,
		progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(what),
		progressbar.OptionSetWidth(30), progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish())
}

// step tells that some steps are done.
func (p *progress) step(n int) {
	if p.bar != nil {
		p.bar.Add(n) //nolint:errcheck // a bar that cannot be drawn is no fault
	}
}

// end ends a piece of work.
func (p *progress) end() {
	if p.bar != nil {
		p.bar.Finish() //nolint:errcheck // as above
		p.bar = nil
	}
}
