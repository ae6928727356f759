-- The ledger of usage: of each day a hash, whose fields are names and whose values are amounts; core/ledger.h.

-- text: JSON, as ledger_text.cc makes it: day, names, amounts of each
function ledger.book(text)
  for _, entry in ipairs(cjson.decode(text)) do
    local key, sums, i = KEY.ledger .. entry[1], {}, 0
    for amount in string.gmatch(call('HGET', key, entry[2]) or '', '%S+') do sums[#sums + 1] = tonumber(amount) end
    for amount in string.gmatch(entry[3], '%S+') do
      i = i + 1
      sums[i] = whole((sums[i] or 0) + tonumber(amount))
    end
    call('HSET', key, entry[2], table.concat(sums, ' '))
    call('ZADD', KEY.ledger_days, (string.gsub(entry[1], '-', '')), entry[1])
  end
end

-- day: the first that stays
function ledger.forget_before(day)
  for _, old in ipairs(call('ZRANGE', KEY.ledger_days, 0, -1)) do
    if old >= day then return end
    call('DEL', KEY.ledger .. old)
    call('ZREM', KEY.ledger_days, old)
  end
end
