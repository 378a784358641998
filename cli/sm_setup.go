package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"heddle/sm"
)

// smSetup is what a heddle sm works by.
type smSetup struct {
	app   *app
	given func(flag string) bool // tells whether a flag was given
	asked smFlags                // what the flags say
	flags smFlags                // and the opensm.conf, where they do not
	conf  *confFile              // nil for none
	notes map[string]bool        // those that were told
	log   smLog
	cfg   sm.Config
	lids  lidFile // for the manager's goroutine
	dumps atomic.Pointer[dumper]
}

// smSetup reads what flags name, and opens the log.
func (a *app) smSetup(given func(flag string) bool, asked smFlags) (*smSetup, error) {
	s := &smSetup{app: a, given: given, asked: asked, notes: map[string]bool{}}
	flags, conf, notes, err := s.read()
	if err != nil {
		return nil, err
	}
	if s.log, err = flags.log.open(a.err); err != nil {
		return nil, err
	}
	if err := s.take(flags, conf, notes); err != nil {
		return nil, errors.Join(err, s.log.close())
	}
	s.lids = lidFile{path: s.flags.files.lids, log: s.log.Logger}
	if s.cfg.LIDs.Reassign {
		return s, nil // the file is written only
	}
	if s.cfg.LIDs.Keep, err = s.lids.read(); err != nil {
		return nil, errors.Join(err, s.log.close())
	}
	return s, nil
}

// read reads the opensm.conf over the flags that were given.
func (s *smSetup) read() (flags smFlags, conf *confFile, notes confNotes, err error) {
	flags = s.asked
	flags.files.routing = true
	if flags.files.conf == "" {
		return flags, nil, nil, nil
	}
	if conf, err = readConf(flags.files.conf); err != nil {
		return flags, nil, nil, err
	}
	notes, err = conf.apply(s.given, &flags)
	return flags, conf, notes, err
}

// take makes a configuration of the flags; where that fails the old one stays.
func (s *smSetup) take(flags smFlags, conf *confFile, notes confNotes) error {
	cfg, err := s.app.smConfig(flags, s.log.Logger)
	if err != nil {
		return err
	}
	if err := isDirectory(flags.files.dumps); err != nil {
		return fmt.Errorf("--dump-dir: %w", err)
	}
	cfg.Swept = s.swept
	s.flags, s.conf, s.cfg = flags, conf, cfg
	s.dumps.Store(&dumper{dir: flags.files.dumps, routing: flags.files.routing, log: s.log.Logger})
	for _, note := range notes.lines() {
		if !s.notes[note] {
			s.notes[note] = true
			s.log.Warn("option", "note", note)
		}
	}
	return nil
}

// swept keeps the files as a sweep has left the subnet.
func (s *smSetup) swept(sub sm.Subnet, r *sm.Report) {
	s.lids.write(sub.LIDs)
	s.dumps.Load().swept(sub, r)
}

// reload reads the files again, and has the manager work by them; where one is
// broken the old configuration stays. The subnet is swept in any case.
func (s *smSetup) reload(m *sm.Manager) {
	if err := s.reread(m); err != nil {
		s.log.Error("configuration not read, the old one stays", "error", err)
		m.Resweep("SIGHUP")
	}
}

func (s *smSetup) reread(m *sm.Manager) error {
	flags, conf, notes, err := s.read()
	if err != nil {
		return err
	}
	if conf != nil {
		if fixed := conf.fixed(s.conf); len(fixed) > 0 {
			s.log.Warn("options count from the next start on", "options", fixed)
		}
	}
	if err := s.take(flags, conf, notes); err != nil {
		return err
	}
	m.Reconfigure(s.cfg)
	return nil
}

// dump writes the dump files.
func (s *smSetup) dump(ctx context.Context, m *sm.Manager) (answer string, err error) {
	err = m.Visit(ctx, func(sub sm.Subnet) error {
		answer, err = s.dumps.Load().dump(sub, true)
		return err
	})
	return answer, err
}

// user is what SIGUSR1 asks for.
func (s *smSetup) user(ctx context.Context, m *sm.Manager) {
	s.log.reopen()
	if s.dumps.Load().dir == "" {
		return
	}
	if answer, err := s.dump(ctx, m); err != nil {
		s.log.Error("not dumped", "error", err)
	} else {
		s.log.Info("dumped", "what", strings.TrimSpace(answer))
	}
}
