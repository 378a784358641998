package sm

import (
	"log/slog"
	"testing"
	"time"
)

// TestReconfigured: another Config counts, but for what is made once.
func TestReconfigured(t *testing.T) {
	old := Config{Workers: 3, Log: slog.New(slog.DiscardHandler)}.filled()
	m := &Manager{cfg: old}
	m.reconfigured() // nothing was given
	c := Config{LIDsAfterStandby: true, NoReregister: true, Interval: time.Minute, Workers: 7}.filled()
	m.next.Store(&c)
	m.reconfigured()
	if !m.cfg.LIDsAfterStandby || !m.cfg.NoReregister || m.cfg.Interval != time.Minute {
		t.Errorf("%+v does not count", m.cfg)
	}
	if m.cfg.Workers != 3 || m.cfg.Log != old.Log {
		t.Errorf("what is made once became %d, %v", m.cfg.Workers, m.cfg.Log)
	}
}
