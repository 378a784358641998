package emu

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"heddle/fabric"
)

// off is the word that ends a fault.
const off = "off"

func parseProbability(word string) (float64, error) {
	if word == off {
		return 0, nil
	}
	p, err := strconv.ParseFloat(word, 64)
	if err != nil || !(p >= 0 && p <= 1) { // holds for NaN too
		return 0, fmt.Errorf("%q: want a probability from 0 to 1, such as 0.05", word)
	}
	return p, nil
}

// isTime tells whether a word is meant as a time.
func isTime(word string) bool {
	_, err := time.ParseDuration(word)
	return err == nil && !isNumber(word)
}

func parseTime(word string) (time.Duration, error) {
	if word == off {
		return 0, nil
	}
	d, err := time.ParseDuration(word)
	if err != nil || d < 0 || d > longest {
		return 0, fmt.Errorf("%q: want a time from 0 to %v, such as 1.5ms or 2s", word, longest)
	}
	return d, nil
}

// parseInterval reads a time after which something happens again.
func parseInterval(word string) (time.Duration, error) {
	d, err := parseTime(word)
	if err == nil && d < shortest {
		err = fmt.Errorf("%q: want a time from %v to %v", word, shortest, longest)
	}
	return d, err
}

func linkTrouble(s *Subnet, args []string) (string, error) {
	id, rest, err := s.link(args)
	if err != nil {
		return "", err
	}
	t, err := parseTrouble(rest)
	if err != nil {
		return "", err
	}
	if err := s.LinkTrouble(id, t); err != nil {
		return "", err
	}
	return s.linkLine(id), nil
}

// parseTrouble reads drop=P dup=P delay=D jitter=D, in any order, or off.
func parseTrouble(words []string) (t Trouble, err error) {
	if len(words) == 0 {
		return t, errUsage
	}
	if len(words) == 1 && words[0] == off {
		return t, nil
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "drop":
			t.Drop, err = parseProbability(value)
		case "dup":
			t.Duplicate, err = parseProbability(value)
		case "delay":
			t.Delay, err = parseTime(value)
		case "jitter":
			t.Jitter, err = parseTime(value)
		default:
			err = errors.New("want drop=P, dup=P, delay=D or jitter=D, or only off")
		}
		if err != nil {
			return Trouble{}, fmt.Errorf("%q: %w", word, err)
		}
	}
	return t, nil
}

// adjust changes the trouble of all links.
func (s *Subnet) adjust(change func(t *Trouble)) (string, error) {
	var t Trouble
	if s.trouble != nil {
		t = *s.trouble
	}
	change(&t)
	if err := s.Trouble(t); err != nil {
		return "", err
	}
	return "all links: " + t.String() + "\n", nil
}

func dropAll(s *Subnet, args []string) (string, error) {
	if len(args) != 1 {
		return "", errUsage
	}
	p, err := parseProbability(args[0])
	if err != nil {
		return "", err
	}
	return s.adjust(func(t *Trouble) { t.Drop = p })
}

func duplicateAll(s *Subnet, args []string) (string, error) {
	if len(args) != 1 {
		return "", errUsage
	}
	p, err := parseProbability(args[0])
	if err != nil {
		return "", err
	}
	return s.adjust(func(t *Trouble) { t.Duplicate = p })
}

func delayAll(s *Subnet, args []string) (string, error) {
	if len(args) < 1 || len(args) > 2 {
		return "", errUsage
	}
	d, err := parseTime(args[0])
	if err != nil {
		return "", err
	}
	var jitter time.Duration
	if len(args) == 2 {
		if jitter, err = parseTime(args[1]); err != nil {
			return "", err
		}
	}
	return s.adjust(func(t *Trouble) { t.Delay, t.Jitter = d, jitter })
}

// oneNode reads a NODE after which nothing comes.
func (s *Subnet) oneNode(args []string) (fabric.NodeID, error) {
	switch {
	case len(args) == 0:
		return 0, errUsage
	case len(args) > 1:
		return 0, fmt.Errorf("%d words for one NODE, quote a name that has blanks: %w", len(args), errUsage)
	}
	return s.node(args[0])
}

func killNode(s *Subnet, args []string) (string, error) {
	id, err := s.oneNode(args)
	if err != nil {
		return "", err
	}
	s.KillNode(id)
	return s.nodeLine(id), nil
}

func reviveNode(s *Subnet, args []string) (string, error) {
	id, err := s.oneNode(args)
	if err != nil {
		return "", err
	}
	s.ReviveNode(id)
	return s.nodeLine(id), nil
}

func slowNode(s *Subnet, args []string) (string, error) {
	if len(args) < 2 || len(args) > 3 {
		return "", errUsage
	}
	id, err := s.node(args[0])
	if err != nil {
		return "", err
	}
	service, limit := s.cfg.Agent, s.cfg.Queue
	if args[1] != off || len(args) == 3 {
		if service, limit, err = parseAgent(args[1:]); err != nil {
			return "", err
		}
	}
	if err := s.SlowAgent(id, service, limit); err != nil {
		return "", err
	}
	return s.nodeLine(id), nil
}

func parseAgent(args []string) (service time.Duration, limit int, err error) {
	if service, err = parseTime(args[0]); err != nil || len(args) == 1 {
		return service, 0, err
	}
	limit, err = strconv.Atoi(args[1])
	if err != nil || limit < 0 {
		return 0, 0, fmt.Errorf("a queue of %q: want a number of SMPs, 0 for no limit", args[1])
	}
	return service, limit, nil
}

func babblePort(s *Subnet, args []string) (string, error) {
	if len(args) < 2 {
		return "", errUsage
	}
	last := len(args) - 1
	p, rest, err := s.place(args[:last])
	switch {
	case err != nil:
		return "", err
	case len(rest) > 0 || len(p.ports) != 1:
		return "", fmt.Errorf("name one port of %s: it has %s", s.nodeName(p.node), atPorts(p.ports))
	}
	var interval time.Duration
	if args[last] != off {
		if interval, err = parseInterval(args[last]); err != nil {
			return "", err
		}
	}
	if err := s.Babble(fabric.End{Node: p.node, Port: p.ports[0]}, interval); err != nil {
		return "", err
	}
	return s.nodeLine(p.node), nil
}
